// Whose packs are taken, and who signs them: as for shared stores.
#pragma once

#include "cache/pack.h"

namespace tarsia::cache {

/// By TARSIA_SIGN_KEY and TARSIA_TRUST (settings.h). Without trusted keys, all packs are taken but those of
/// revoked ones. Throws ArgumentError as RemoteSettings::read() and the readers of keys do, and for a key of
/// one's own that is revoked.
PackKeys read_pack_keys();

}  // namespace tarsia::cache
