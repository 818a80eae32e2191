// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// Owns one multi handle of libcurl, with its connections: what its sockets and its timer ask for is the poller's and
/// the owner's to do.
///
/// Lives on the loop's thread. libcurl calls back only from within calls of this type. Handles must have left it before
/// it ends.
struct MultiHandle: ~Copyable {
  /// The context of libcurl's callbacks; its address does not change.
  private struct Cell {
    let owner: UInt32
    /// Held: connections close their sockets through it when the handle goes.
    let poller: Poller
    var timerAt: Int64?
  }

  private let raw: UnsafeMutableRawPointer
  private let cell: UnsafeMutablePointer<Cell>

  /// - Parameter owner: to whom the poller hands what becomes ready.
  /// - Returns: `nil` when memory ran out.
  init?(owner: UInt32, poller: Poller) {
    guard CurlGlobal.isReady, let raw = curl_multi_init() else { return nil }
    self.raw = raw
    cell = .allocate(capacity: 1)
    cell.initialize(to: Cell(owner: owner, poller: poller, timerAt: nil))
    clastro_multi_install(raw, cell, Self.socketChanged, Self.timerChanged)
  }

  deinit {
    curl_multi_cleanup(raw)
    cell.deinitialize(count: 1)
    cell.deallocate()
  }

  /// Monotonic nanoseconds at which libcurl wants to be called; `nil` when it does not.
  var timerAt: Int64? { cell.pointee.timerAt }

  /// Begins what the handle is for. libcurl calls the timer back from within.
  func add(_ easy: EasyHandle) -> CURLMcode { curl_multi_add_handle(raw, easy.raw) }

  /// Takes a handle out; its callbacks are over.
  func remove(_ easy: EasyHandle) { curl_multi_remove_handle(raw, easy.raw) }

  /// Has libcurl do what a descriptor is ready for.
  func act(on ready: Poller.Ready) {
    act(
      on: ready.descriptor,
      (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0)
        | (ready.failed ? CURL_CSELECT_ERR : 0))
  }

  /// Calls libcurl when its time has come.
  func fireTimer(now: Int64) { if takeTimer(now: now) { act(on: CURL_SOCKET_TIMEOUT, 0) } }

  private func takeTimer(now: Int64) -> Bool {
    guard let due = cell.pointee.timerAt, now >= due else { return false }
    cell.pointee.timerAt = nil
    return true
  }

  private func act(on socket: curl_socket_t, _ mask: Int32) {
    var running: Int32 = 0
    curl_multi_socket_action(raw, socket, mask, &running)
  }

  /// The private pointer of the next handle that libcurl is done with, and its result.
  func nextFinished() -> (context: UnsafeMutableRawPointer?, CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(raw, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      return (clastro_private(easy), clastro_message_result(message))
    }
    return nil
  }

  private static let socketChanged: clastro_socket_callback = { _, socket, what, context, _ in
    guard let cell = context?.assumingMemoryBound(to: Cell.self) else { return 0 }
    if what == CURL_POLL_REMOVE {
      cell.pointee.poller.unwatch(socket)
    } else {
      cell.pointee.poller.watch(
        socket, owner: cell.pointee.owner, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0)
    }
    return 0
  }

  private static let timerChanged: clastro_timer_callback = { _, milliseconds, context in
    context?.assumingMemoryBound(to: Cell.self).pointee.timerAt =
      switch milliseconds {
      case ..<0: nil
      case 0: 0  // at once, as for every dial that begins
      default: monotonicNow() + Int64(milliseconds) * 1_000_000
      }
    return 0
  }
}
