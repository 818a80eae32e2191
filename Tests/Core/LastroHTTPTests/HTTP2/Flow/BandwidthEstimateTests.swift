// SPDX-License-Identifier: Apache-2.0

import LastroHTTP
import Testing

@Suite("Bandwidth-delay estimate")
struct BandwidthEstimateTests {
  private let start = 1_000 * HTTP2Time.second

  /// Measures once, a delay after the previous measurement.
  private func measure(
    _ estimate: inout BandwidthEstimate, _ now: inout UInt64, bytes: Int, roundTrip: UInt64, isRead: Bool = true
  ) -> Bool {
    now += estimate.delay
    let asks = estimate.received(1, now: now)
    let asksAgain = estimate.received(bytes - 1, now: now)
    #expect(asks && !asksAgain)
    now += roundTrip
    return estimate.acknowledged(now: now, isRead: isRead)
  }

  @Test("The window doubles the bytes per round trip, up to its limit, if two thirds of it were used")
  func growth() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    var now = start
    let roundTrip = 50 * HTTP2Time.millisecond
    let grew1 = measure(&estimate, &now, bytes: 600_000, roundTrip: roundTrip)
    #expect(!grew1)
    let grew2 = measure(&estimate, &now, bytes: 700_000, roundTrip: roundTrip)
    #expect(grew2)
    #expect(estimate.window == 1_400_000)
    let grew3 = measure(&estimate, &now, bytes: 900_000, roundTrip: roundTrip)
    #expect(!grew3)
    let grew4 = measure(&estimate, &now, bytes: 10 << 20, roundTrip: roundTrip)
    #expect(grew4)
    #expect(estimate.window == 16 << 20)
    let grew5 = measure(&estimate, &now, bytes: 16 << 20, roundTrip: roundTrip)
    #expect(!grew5)
    #expect(estimate.window == 16 << 20)
  }

  @Test("The window does not grow if an earlier bandwidth was higher")
  func bandwidth() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    var now = start
    let grew6 = measure(&estimate, &now, bytes: 1 << 20, roundTrip: 10 * HTTP2Time.millisecond)
    #expect(grew6)
    let grew7 = measure(&estimate, &now, bytes: 2 << 20, roundTrip: 1_000 * HTTP2Time.millisecond)
    #expect(!grew7)
    #expect(estimate.window == 2 << 20)
  }

  @Test("The window does not grow again if growing only lengthened the queue that delays PING replies")
  func queue() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    var now = start
    let grew1 = measure(&estimate, &now, bytes: 1 << 20, roundTrip: HTTP2Time.millisecond)
    #expect(grew1)
    let grew2 = measure(&estimate, &now, bytes: 2 << 20, roundTrip: 2 * HTTP2Time.millisecond)
    #expect(!grew2)
    let grew3 = measure(&estimate, &now, bytes: 2 << 20, roundTrip: HTTP2Time.millisecond)
    #expect(grew3)
    #expect(estimate.window == 4 << 20)
  }

  @Test("Measurements become rarer while nothing grows, and more frequent when it does")
  func delay() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    var now = start
    #expect(estimate.delay == 100 * HTTP2Time.millisecond)
    var delays: [UInt64] = []
    for _ in 0..<10 {
      _ = measure(&estimate, &now, bytes: 1_000, roundTrip: HTTP2Time.millisecond)
      delays.append(estimate.delay / HTTP2Time.millisecond)
    }
    #expect(delays == [100, 400, 400, 1_600, 1_600, 6_400, 6_400, 10_000, 10_000, 10_000])
    let grew8 = measure(&estimate, &now, bytes: 1 << 20, roundTrip: HTTP2Time.millisecond)
    #expect(grew8)
    #expect(estimate.delay == 5 * HTTP2Time.second)
  }

  @Test("Nothing is counted before the round trip ends, and one PING is outstanding at a time")
  func rest() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    let grewUnasked = estimate.acknowledged(now: start, isRead: true)
    let asks = [estimate.received(1, now: start), estimate.received(1, now: start + 1)]
    #expect(!grewUnasked && asks == [true, false])
    #expect(estimate.isMeasuring)
    _ = estimate.acknowledged(now: start + 10, isRead: true)
    let asksEarly = estimate.received(16 << 20, now: start + 11)
    #expect(!asksEarly && !estimate.isMeasuring)
    let asksLater = estimate.received(1, now: start + 10 + estimate.delay)
    #expect(asksLater)
  }

  @Test("The window does not grow while readers are behind")
  func behind() {
    var estimate = BandwidthEstimate(window: 1 << 20, maximumWindow: 16 << 20)
    var now = start
    let grew9 = measure(&estimate, &now, bytes: 1 << 20, roundTrip: 1_000, isRead: false)
    #expect(!grew9)
    #expect(estimate.window == 1 << 20)
  }
}
