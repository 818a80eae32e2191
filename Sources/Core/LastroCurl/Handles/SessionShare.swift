// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// A share of the TLS sessions of a host and of the proxy in front of it, for their next connections. Without a share,
/// libcurl would keep the sessions in the easy handle, which serves only one connection. The share is used only on the
/// loop's thread, and outlives every handle that uses it.
final class SessionShare {
  let raw: UnsafeMutableRawPointer

  init?() {
    guard CurlGlobal.isReady, let raw = clastro_make_session_share() else { return nil }
    self.raw = raw
  }

  deinit { curl_share_cleanup(raw) }
}
