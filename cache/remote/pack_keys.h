// Whose packs are taken, and who signs them: as for shared stores.
#pragma once

#include "cache/pack.h"

namespace tarsia::cache {

/// By TARSIA_SIGN_KEY and TARSIA_TRUST (settings.h). Where one of them is set, packs have to be signed by
/// one's own key or a trusted one, unless unsafe-unsigned is among TARSIA_TRUST. Throws ArgumentError as
/// RemoteSettings::read() and the readers of keys do, and for a key of one's own that is revoked.
PackKeys read_pack_keys();

}  // namespace tarsia::cache
