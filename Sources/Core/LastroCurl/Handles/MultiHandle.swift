// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// Owns one multi handle of libcurl with its connections. The poller watches its sockets, and the owner handles its
/// timer.
///
/// It is used only on the loop's thread. libcurl calls back only from within calls of this type. All handles must have
/// been removed before it is destroyed.
struct MultiHandle: ~Copyable {
  /// The context of libcurl's callbacks; its address does not change.
  private struct Cell {
    let owner: UInt32
    /// The poller. It is retained, because connections close their sockets through it when the handle is destroyed.
    let poller: Poller
    var timerAt: Int64?
  }

  private let raw: UnsafeMutableRawPointer
  private let cell: UnsafeMutablePointer<Cell>

  /// Creates a multi handle.
  ///
  /// - Parameter owner: the owner that the poller reports ready descriptors to.
  /// - Returns: `nil` if memory cannot be allocated.
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

  /// The time at which libcurl wants to be called, in monotonic nanoseconds; `nil` if it does not.
  var timerAt: Int64? { cell.pointee.timerAt }

  /// Adds a handle and starts its work. libcurl calls the timer callback from within this call.
  func add(_ easy: EasyHandle) -> CURLMcode { curl_multi_add_handle(raw, easy.raw) }

  /// Removes a handle. Its callbacks are not called any more.
  func remove(_ easy: EasyHandle) { curl_multi_remove_handle(raw, easy.raw) }

  /// Lets libcurl act on a ready descriptor.
  func act(on ready: Readiness) {
    act(
      on: ready.descriptor,
      (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0)
        | (ready.failed ? CURL_CSELECT_ERR : 0))
  }

  /// Calls libcurl if its timer has expired.
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

  /// Returns the private pointer of the next finished handle, and its result.
  func nextFinished() -> (context: UnsafeMutableRawPointer?, CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(raw, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      return (clastro_private(easy), message.pointee.data.result)
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
