// Reads the keys that the settings name.
#include "cache/remote/pack_keys.h"

#include "base/error.h"
#include "cache/remote/settings.h"

namespace tarsia::cache {

PackKeys read_pack_keys() {
  const RemoteSettings settings = RemoteSettings::read();
  PackKeys keys;
  keys.trust = Trust::read(settings.trust);
  keys.must_be_signed = (!settings.trust.empty() || !settings.sign_key.empty()) && !settings.unsigned_;
  if (settings.sign_key.empty()) return keys;
  keys.signer.emplace(SigningKey::read(settings.sign_key));
  PublicKey own;
  if (keys.trust.find(id_of(keys.signer->public_key()), own) == Signer::revoked)
    throw ArgumentError::value_error("TARSIA_SIGN_KEY: the key of " + settings.sign_key +
                                     " is revoked by TARSIA_TRUST; make another: tarsia cache keygen");
  keys.trust.add(keys.signer->public_key());
  return keys;
}

}  // namespace tarsia::cache
