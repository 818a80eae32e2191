// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroHTTP

@Suite("Acknowledged bytes as a sign of life")
struct DeliveryWatchTests {
  private static let limit: Int64 = 400

  /// A call that was last active at 1000, and the kernel's report at each check.
  private final class Lab {
    var watch = DeliveryWatch()
    var activity: Int64 = 1000
    var isAlone = true
    private(set) var looks: [Int64] = []

    /// Follows the watch over the kernel's reports, and returns the time at which the limit has passed; `nil` if it has
    /// not passed.
    func run(_ sights: [LinkDelivery?]) -> Int64? {
      for sight in sights {
        let now = watch.nextLook(after: activity, limit: DeliveryWatchTests.limit)
        var hasAsked = false
        activity = watch.look(
          at: {
            hasAsked = true
            return sight
          }(), after: activity, limit: DeliveryWatchTests.limit, now: now, isAlone: isAlone)
        if hasAsked { looks.append(now) }
        if now >= activity + DeliveryWatchTests.limit { return now }
      }
      return nil
    }
  }

  private static func sight(_ acknowledged: UInt64, queued: UInt64, at time: Int64? = nil) -> LinkDelivery {
    LinkDelivery(acknowledged: acknowledged, queued: queued, acknowledgedAt: time)
  }

  @Test("A call is checked once after all its bytes were acknowledged, and its limit runs from then on")
  func delivered() {
    let lab = Lab()
    #expect(lab.run([Self.sight(50, queued: 0, at: 1003), nil]) == 1403)
    #expect(lab.looks == [1100])
  }

  @Test("Acknowledgements for other calls on the connection do not keep a call alive")
  func beside() {
    var lab = Lab()
    lab.isAlone = false
    #expect(lab.run([Self.sight(50, queued: 0, at: 1099), nil]) == 1400)
    // At most the first fifty bytes are the call's own. Bytes that are acknowledged after them belong to other calls.
    lab = Lab()
    lab.isAlone = false
    #expect(lab.run([Self.sight(50, queued: 50, at: 1099), Self.sight(120, queued: 80, at: 1190), nil, nil]) == 1590)
    #expect(lab.looks == [1100, 1200])
  }

  @Test("A call stays alive while its bytes are acknowledged, and for its limit after that")
  func slow() {
    let lab = Lab()
    var sights: [LinkDelivery?] = []
    for step in 0..<10 {
      sights.append(Self.sight(UInt64(100 + step), queued: UInt64(9 - step), at: Int64(1090 + 100 * step)))
    }
    #expect(lab.run(sights + [nil]) == 1990 + Self.limit)
    #expect(lab.looks.count == 10 && lab.looks.last == lab.looks[8] + 100)
  }

  @Test("A peer that acknowledges nothing more ends the call at its limit, even if it replies to probes")
  func stuck() {
    for time in [nil, Int64(1000)] {
      let lab = Lab()
      #expect(lab.run([LinkDelivery?](repeating: Self.sight(50, queued: 70, at: time), count: 4)) == 1400)
      #expect(lab.looks == [1100, 1200, 1300, 1400])
    }
  }

  @Test("Without delivery information from the kernel the limit runs from the last activity")
  func unknown() {
    let lab = Lab()
    #expect(lab.run([nil, nil]) == 1400)
  }

  @Test("Later activity restarts the watch")
  func again() {
    let lab = Lab()
    _ = lab.run([Self.sight(50, queued: 0, at: 1000)])
    lab.activity = 5000
    #expect(lab.watch.nextLook(after: 5000, limit: Self.limit) == 5100)
    #expect(lab.run([Self.sight(80, queued: 0, at: 5001), nil]) == 5401)
  }

  @Test("On a socket other than TCP a shrinking queue counts as progress")
  func notTCP() {
    let lab = Lab()
    #expect(lab.run([Self.sight(0, queued: 90), Self.sight(0, queued: 60), Self.sight(0, queued: 0), nil]) == 1700)
  }
}
