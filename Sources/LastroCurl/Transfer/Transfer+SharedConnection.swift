// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension Transfer {
  /// Takes part in the connection that libcurl chose, where it speaks HTTP/2. False: the request must not go out on it.
  func join(_ connection: OpaquePointer?, localPort: Int32) -> Bool {
    share.connection = nil
    guard let connection, clastro_speaks_http2(easy.raw) else { return true }
    let peer = Unmanaged<TLSPeer>.fromOpaque(clastro_connection_owner(connection)).takeUnretainedValue()
    // libcurl names the socket of a connection only to the first that uses it.
    if let socket { host.learnSocket(socket, localPort: Int(localPort)) }
    share.isReused = clastro_is_reused(easy.raw)
    if share.isReused, !requestSent, hasEnded(connection, peer, localPort: localPort) { return false }
    // What libcurl sends again, and may not, is stopped before it goes out: not on a connection of others.
    if !job.request.allowsResend { easy.set(CURLOPT_FRESH_CONNECT, 1) }
    share.connection = peer.shared
    return true
  }

  /// Something came from the peer.
  func noteHearing() {
    lastActivity = clock.now
    share.connection?.heardAt = lastActivity
  }

  /// The transfer is stopped before its request goes out. libcurl 7.88 resets an HTTP/2 stream then that was never
  /// opened, which servers answer by ending the connection.
  func abandonUnusedConnection() {
    if speaksHTTP2 { easy.set(CURLOPT_FORBID_REUSE, 1) }
  }

  /// Whether a connection without transfers has ended, or most likely so. libcurl 7.88 reads one TLS record of it
  /// before it uses it again, and takes no notice when that is close_notify. What lies there beyond that is rarely good
  /// news.
  private func hasEnded(_ connection: OpaquePointer, _ peer: TLSPeer, localPort: Int32) -> Bool {
    if clastro_connection_closed_cleanly(connection) || peer.alert != nil { return true }
    // Where others use it, what comes is read.
    guard peer.shared.running == 0 else { return false }
    return peer.shared.isSilent || host.socket(localPort: localPort).map(clastro_has_input) ?? false
  }

  /// A connection on which nothing came in time is not used again: over HTTP/2 libcurl would keep it for the next
  /// request, which would hang as well. Others that wait on it go on waiting, and new requests go elsewhere.
  func abandonSilentConnection(now: Int64) {
    guard requestSent else { return }
    var isSilent = response == nil
    if let shared = share.connection, let limit = job.request.idleTimeout, !waitsForUs,
      now >= max(lastActivity, shared.heardAt).adding(limit)
    {
      shared.noteSilence()
      host.noteSilence(of: shared)
      isSilent = true
    }
    if isSilent { easy.set(CURLOPT_FORBID_REUSE, 1) }
  }

  /// A connection whose framing of HTTP/2 broke is used by no further request: libcurl would keep it until it finds it
  /// dead.
  func abandonBrokenConnection(_ code: CURLcode) {
    guard code == CURLE_HTTP2, let localPort, let port = Int32(exactly: localPort),
      let socket = host.socket(localPort: port)
    else {
      return
    }
    clastro_shut_down_socket(socket, port)
  }

  /// Whether the request goes out again, on another connection: one that had served before died of it without a byte of
  /// an answer, or the server said that nothing was done with it (GOAWAY, RFC 9113 §6.8), which libcurl 7.88 does not
  /// tell apart. Once, what libcurl sent again by itself included, and only where it does no harm.
  func mustGoAgain(_ code: CURLcode) -> Bool {
    guard share.isReused, share.connection != nil, code.isEndOfConnection, failure == nil, response == nil,
      clastro_head_bytes(easy.raw) == 0
    else {
      return false
    }
    return job.request.allowsResend && (job.upload == nil || uploadOffset == 0) && resends == 0
  }
}

extension CURLcode {
  /// What libcurl 7.88 says when an HTTP/2 connection ends under a transfer.
  var isEndOfConnection: Bool {
    switch self {
    case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2: true
    default: false
    }
  }
}
