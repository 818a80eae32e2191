// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// A multi handle that serves a limited number of streams.
///
/// At every call that sends or receives, libcurl searches the multi handle's list for the stream's connection, so the
/// cost grows with the number of streams in the handle. Therefore streams are distributed over many multi handles.
final class StreamShard {
  /// The number of streams in one multi handle. In a release build, an echo takes 57 µs among 64 streams, 60 µs among
  /// 1,000 and 91 µs among 10,000 (Benchmarks, StreamBench; part of the increase is due to processor caches). With
  /// 1,000 streams in a single multi handle, an echo takes 1.7 times as long (434 µs instead of 254 µs, debug build). A
  /// multi handle takes about 40 KB, which 64 streams share.
  static let capacity = 64

  let owner: UInt32
  /// The fixed name answers. They stay in the multi handle's memory, so streams with other answers cannot share it.
  let resolutions: [ConnectionOptions.Resolution]
  private let multi: MultiHandle
  private(set) var streams = 0
  var dialing = 0

  init?(owner: UInt32, resolutions: [ConnectionOptions.Resolution], poller: Poller) {
    guard let multi = MultiHandle(owner: owner, poller: poller) else { return nil }
    self.owner = owner
    self.resolutions = resolutions
    self.multi = multi
  }

  var timerAt: Int64? { multi.timerAt }
  var hasRoom: Bool { streams < Self.capacity }

  func add(_ easy: EasyHandle) -> CURLMcode {
    let code = multi.add(easy)
    if code == CURLM_OK { streams += 1 }
    return code
  }

  /// Removes a handle and closes its connection: libcurl keeps no connection that was made for a stream.
  func remove(_ easy: EasyHandle) {
    multi.remove(easy)
    streams -= 1
  }

  func socketReady(_ ready: Readiness) { multi.act(on: ready) }

  func fireTimer(now: Int64) { multi.fireTimer(now: now) }

  /// Returns the next stream that has connected or failed.
  func nextFinished() -> (StreamSession, CURLcode)? {
    while let (context, code) = multi.nextFinished() {
      if let session = StreamSession.of(context) { return (session, code) }
    }
    return nil
  }
}
