// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// A multi handle of libcurl that serves a limited number of streams. The poller watches its sockets, and the hub calls
/// it when its timer expires.
///
/// At every call that sends or receives, libcurl searches the multi handle's list for the stream's connection, so the
/// cost grows with the number of streams in the handle. Therefore streams are distributed over many multi handles.
///
/// It is used only on the loop's thread. libcurl calls back only from within calls of this type and from its `deinit`,
/// which closes unused connections. All handles must have been removed by then.
final class StreamShard {
  /// The number of streams in one multi handle. In a release build, an echo takes 57 µs among 64 streams, 60 µs among
  /// 1,000 and 91 µs among 10,000 (Benchmarks, StreamBench; part of the increase is due to processor caches). With
  /// 1,000 streams in a single multi handle, an echo takes 1.7 times as long (434 µs instead of 254 µs, debug build). A
  /// multi handle takes about 40 KB, which 64 streams share.
  static let capacity = 64

  /// The owner that the poller reports ready descriptors to.
  let owner: UInt32
  /// The fixed name answers. They stay in the multi handle's memory, so streams with other answers cannot share it.
  let resolutions: [ConnectionOptions.Resolution]
  private let raw: UnsafeMutableRawPointer
  /// The poller. It is retained, because connections close their sockets through it when the handle is destroyed.
  private let poller: Poller
  /// The time at which libcurl wants to be called, in monotonic nanoseconds; `nil` if it does not.
  private(set) var timerAt: Int64?
  private(set) var streams = 0
  var dialing = 0

  init?(owner: UInt32, resolutions: [ConnectionOptions.Resolution], poller: Poller) {
    guard CurlGlobal.isReady, let raw = curl_multi_init() else { return nil }
    self.owner = owner
    self.resolutions = resolutions
    self.raw = raw
    self.poller = poller
    let context = Unmanaged.passUnretained(self).toOpaque()
    clastro_multi_install(raw, context, Self.socketChanged, Self.timerChanged)
  }

  deinit { curl_multi_cleanup(raw) }

  var hasRoom: Bool { streams < Self.capacity }

  /// Adds a handle and starts its work. libcurl calls the timer callback from within this call.
  func add(_ easy: EasyHandle) -> CURLMcode {
    let code = curl_multi_add_handle(raw, easy.raw)
    if code == CURLM_OK { streams += 1 }
    return code
  }

  /// Removes a handle and closes its connection: libcurl keeps no connection that was made for a stream.
  func remove(_ easy: EasyHandle) {
    curl_multi_remove_handle(raw, easy.raw)
    streams -= 1
  }

  /// Lets libcurl act on a ready descriptor.
  func socketReady(_ ready: Readiness) {
    act(
      on: ready.descriptor,
      (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0)
        | (ready.failed ? CURL_CSELECT_ERR : 0))
  }

  /// Calls libcurl if its timer has expired.
  func fireTimer(now: Int64) {
    guard let due = timerAt, now >= due else { return }
    timerAt = nil
    act(on: CURL_SOCKET_TIMEOUT, 0)
  }

  private func act(on socket: curl_socket_t, _ mask: Int32) {
    var running: Int32 = 0
    curl_multi_socket_action(raw, socket, mask, &running)
  }

  /// Returns the next stream that has connected or failed.
  func nextFinished() -> (StreamSession, CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(raw, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      var context: UnsafeMutableRawPointer?
      clastro_get(easy, CURLINFO_PRIVATE, &context)
      if let session = StreamSession.of(context) { return (session, message.pointee.data.result) }
    }
    return nil
  }

  // MARK: Called by libcurl

  private static func of(_ context: UnsafeMutableRawPointer?) -> StreamShard? {
    context.map { Unmanaged<StreamShard>.fromOpaque($0).takeUnretainedValue() }
  }

  private static let socketChanged: curl_socket_callback = { _, socket, what, context, _ in
    guard let shard = of(context) else { return 0 }
    if what == CURL_POLL_REMOVE {
      shard.poller.unwatch(socket)
    } else {
      shard.poller.watch(
        socket, owner: shard.owner, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0)
    }
    return 0
  }

  private static let timerChanged: curl_multi_timer_callback = { _, milliseconds, context in
    of(context)?.timerAt =
      switch milliseconds {
      case ..<0: nil
      case 0: 0  // at once, as for every dial that begins
      default: monotonicNow() + Int64(milliseconds) * 1_000_000
      }
    return 0
  }
}
