// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The TLS sessions of a host, and of the proxy in front of it, for its next connections: libcurl would keep them in
/// the easy handle, which serves one connection. Lives on the loop thread only, and longer than every handle that uses
/// it.
final class SessionShare {
  let raw: UnsafeMutableRawPointer

  init?() {
    guard CurlGlobal.isReady, let raw = clastro_make_session_share() else { return nil }
    self.raw = raw
  }

  deinit { curl_share_cleanup(raw) }
}
