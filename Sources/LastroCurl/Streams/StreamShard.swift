// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// A multi handle with some streams, and nothing else.
///
/// libcurl looks a stream's connection up in its multi handle's list at every call that sends or receives: the cost of a
/// byte grows with the number of streams in it. So they are spread over many.
final class StreamShard {
  /// Streams in one multi handle. In a release build an echo takes 57 µs among 64 streams, 60 µs among 1,000 and 91 µs
  /// among 10,000 (Benchmarks, StreamBench; some of it is the caches of the processor). With all in one multi handle 1,000
  /// streams cost 1.7 times as much (434 µs for 254 µs, debug build). A multi handle takes some 40 KB, which 64 share.
  static let capacity = 64

  let owner: UInt32
  /// Fixed name answers stay in the multi handle's memory: streams with others do not share it.
  let resolutions: [ConnectionOptions.Resolution]
  private let multi: UnsafeMutableRawPointer
  private let poller: Poller
  private(set) var timerAt: Int64?
  private(set) var streams = 0
  var dialing = 0

  init?(owner: UInt32, resolutions: [ConnectionOptions.Resolution], poller: Poller) {
    guard CurlGlobal.isReady, let multi = curl_multi_init() else { return nil }
    self.owner = owner
    self.resolutions = resolutions
    self.multi = multi
    self.poller = poller
    clastro_multi_install(multi, Unmanaged.passUnretained(self).toOpaque(), Self.socketChanged, Self.timerChanged)
  }

  deinit { curl_multi_cleanup(multi) }

  var hasRoom: Bool { streams < Self.capacity }

  func add(_ easy: EasyHandle) -> CURLMcode {
    let code = curl_multi_add_handle(multi, easy.raw)
    if code == CURLM_OK { streams += 1 }
    return code
  }

  /// Ends the connection too: libcurl keeps none that was made for a stream.
  func remove(_ easy: EasyHandle) {
    curl_multi_remove_handle(multi, easy.raw)
    streams -= 1
  }

  func socketReady(_ ready: Poller.Ready) {
    var running: Int32 = 0
    let mask =
      (ready.readable ? CURL_CSELECT_IN : 0) | (ready.writable ? CURL_CSELECT_OUT : 0)
      | (ready.failed ? CURL_CSELECT_ERR : 0)
    curl_multi_socket_action(multi, ready.descriptor, mask, &running)
  }

  func fireTimer(now: Int64) {
    guard let due = timerAt, now >= due else { return }
    timerAt = nil
    var running: Int32 = 0
    curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running)
  }

  /// The next stream that stands, or cannot be had.
  func nextFinished() -> (StreamSession, CURLcode)? {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let session = StreamSession.of(clastro_private(easy))
      else { continue }
      return (session, clastro_message_result(message))
    }
    return nil
  }

  private static let socketChanged: clastro_socket_callback = { _, socket, what, context, _ in
    guard let context else { return 0 }
    let shard = Unmanaged<StreamShard>.fromOpaque(context).takeUnretainedValue()
    if what == CURL_POLL_REMOVE {
      shard.poller.unwatch(socket)
    } else {
      shard.poller.watch(
        socket, owner: shard.owner, read: what & CURL_POLL_IN != 0, write: what & CURL_POLL_OUT != 0)
    }
    return 0
  }

  private static let timerChanged: clastro_timer_callback = { _, milliseconds, context in
    guard let context else { return 0 }
    let shard = Unmanaged<StreamShard>.fromOpaque(context).takeUnretainedValue()
    shard.timerAt =
      switch milliseconds {
      case ..<0: nil
      case 0: 0
      default: monotonicNow() + Int64(milliseconds) * 1_000_000
      }
    return 0
  }
}
