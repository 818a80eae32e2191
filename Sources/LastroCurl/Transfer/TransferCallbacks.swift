// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The C functions libcurl calls, each a door to a method of ``Transfer``. They run on the loop thread, inside a call
/// the loop made, and must not call libcurl's multi interface.
enum TransferCallbacks {
  static func install(on easy: EasyHandle) {
    clastro_install_callbacks(
      easy.raw, Unmanaged.passUnretained(easy).toOpaque(), header, write, read, seek, prereq)
  }

  static func installContextHook(on easy: EasyHandle) throws(TransportError) {
    try TLSGate.install(prepareTLS, on: easy, owner: Unmanaged.passUnretained(easy).toOpaque())
  }

  /// Has ``Transfer/noteTunnelStep()`` called.
  static func installTunnelLimit(on easy: EasyHandle) {
    clastro_install_progress(easy.raw, Unmanaged.passUnretained(easy).toOpaque(), tunnelStep)
  }

  private static let tunnelStep: clastro_progress_callback = { context, _, _, _, _ in
    transfer(context)?.noteTunnelStep() == false ? 1 : 0
  }

  private static let prepareTLS: clastro_context_callback = { _, context, transfer in
    guard let context, let transfer = Self.transfer(transfer), transfer.prepareTLS(context) else {
      return CURLE_SSL_CONNECT_ERROR
    }
    return CURLE_OK
  }

  private static let header: clastro_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return 0 }
    let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
    return transfer.receive(headerLine: line) ? size * count : 0
  }

  private static let write: clastro_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return 0 }
    return transfer.receive(body: UnsafeRawBufferPointer(start: buffer, count: size * count))
  }

  private static let read: clastro_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return Int(CURL_READFUNC_ABORT) }
    return transfer.supply(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
  }

  private static let seek: clastro_seek_callback = { context, offset, origin in
    guard origin == 0, let transfer = transfer(context) else { return Int32(CURL_SEEKFUNC_FAIL) }
    return transfer.rewind(to: Int64(offset))
  }

  private static let prereq: clastro_prereq_callback = { context, remote, _, remotePort, localPort in
    guard let transfer = transfer(context) else { return Int32(CURL_PREREQFUNC_ABORT) }
    let answer = transfer.willSend(remote: remote, remotePort: remotePort, localPort: localPort)
    if answer != CURL_PREREQFUNC_OK { transfer.abandonUnusedConnection() }
    return answer
  }

  /// The transfer that has the handle. `context` is the ``EasyHandle``, which outlives all calls: libcurl's handle goes
  /// with it.
  static func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.flatMap { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue().transfer }
  }
}
