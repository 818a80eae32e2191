// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP

/// A multi handle with some streams, and nothing else.
///
/// libcurl looks a stream's connection up in its multi handle's list at every call that sends or receives: the cost of
/// a byte grows with the number of streams in it. So they are spread over many.
final class StreamShard {
  /// Streams in one multi handle. In a release build an echo takes 57 µs among 64 streams, 60 µs among 1,000 and 91 µs
  /// among 10,000 (Benchmarks, StreamBench; some of it is the caches of the processor). With all in one multi handle
  /// 1,000 streams cost 1.7 times as much (434 µs for 254 µs, debug build). A multi handle takes some 40 KB, which 64
  /// share.
  static let capacity = 64

  let owner: UInt32
  /// Fixed name answers stay in the multi handle's memory: streams with others do not share it.
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

  /// Ends the connection too: libcurl keeps none that was made for a stream.
  func remove(_ easy: EasyHandle) {
    multi.remove(easy)
    streams -= 1
  }

  func socketReady(_ ready: Poller.Ready) { multi.act(on: ready) }

  func fireTimer(now: Int64) { multi.fireTimer(now: now) }

  /// Returns the next stream that is connected, or has failed.
  func nextFinished() -> (StreamSession, CURLcode)? {
    while let (context, code) = multi.nextFinished() {
      if let session = StreamSession.of(context) { return (session, code) }
    }
    return nil
  }
}
