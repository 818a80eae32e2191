// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroFleet

@Suite("The health of a cache's store")
struct StoreHealthTests {
  private enum Event: CaseIterable {
    case read, change, failure, refusal
  }

  /// Returns a health in a state, at the time zero.
  private func health(isLost: Bool, isRefusing: Bool) -> StoreHealth {
    var health = StoreHealth()
    if isRefusing { _ = health.failed(isRefusal: true, now: .zero, jitter: 1) }
    if isLost { _ = health.failed(isRefusal: false, now: .zero, jitter: 1) }
    return health
  }

  @Test("Each event in each state has the expected next state, and a loss and a return are reported once")
  func table() {
    for isLost in [false, true] {
      for isRefusing in [false, true] {
        for event in Event.allCases {
          var health = health(isLost: isLost, isRefusing: isRefusing)
          #expect(health.isLost == isLost && health.isRefusing == isRefusing)
          let report: StoreHealth.Event?
          let expected: (isLost: Bool, isRefusing: Bool)
          switch event {
          case .read:
            report = health.succeeded(isChange: false)
            expected = (false, isRefusing)
          case .change:
            report = health.succeeded(isChange: true)
            expected = (false, false)
          case .failure:
            report = health.failed(isRefusal: false, now: .zero, jitter: 0)
            expected = (true, isRefusing)
          case .refusal:
            report = health.failed(isRefusal: true, now: .zero, jitter: 0)
            expected = (false, true)
          }
          #expect(health.isLost == expected.isLost && health.isRefusing == expected.isRefusing, "\(event)")
          let wasWell = !isLost && !isRefusing
          let wanted: StoreHealth.Event? = wasWell == health.isWell ? nil : health.isWell ? .back : .lost
          #expect(report == wanted, "\(event) \(isLost) \(isRefusing)")
        }
      }
    }
  }

  @Test("A lost store is asked by one operation at a time after a pause, which doubles up to half a minute")
  func pauses() {
    var health = StoreHealth()
    var now = Duration.zero
    func mayRead(after wait: Duration = .zero) -> Bool { health.mayAsk(isChange: false, now: now + wait) }
    func mayChange() -> Bool { health.mayAsk(isChange: true, now: now) }
    #expect(mayChange() && mayRead())
    var pauses: [Double] = []
    _ = health.failed(isRefusal: false, now: now, jitter: 1)
    // Operations that failed together count once.
    _ = health.failed(isRefusal: false, now: now, jitter: 1)
    for _ in 0..<7 {
      let start = now
      while !mayRead() { now += .milliseconds(100) }
      pauses.append((now - start) / .seconds(1))
      #expect(!mayRead() && !mayChange())
      _ = health.failed(isRefusal: false, now: now, jitter: 1)
    }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30])
    let event = health.succeeded(isChange: false)
    #expect(event == .back && mayChange())
    _ = health.failed(isRefusal: false, now: now, jitter: 0)
    #expect(!mayRead(after: .milliseconds(400)) && mayRead(after: .milliseconds(500)))
    // A probe that never ends does not keep the others from probing.
    #expect(mayRead(after: .milliseconds(500) + StoreHealth.probe))
  }

  @Test("A store that refuses changes is still read")
  func refusing() {
    var health = StoreHealth()
    func mayAsk(isChange: Bool, _ seconds: Int) -> Bool { health.mayAsk(isChange: isChange, now: .seconds(seconds)) }
    let loss = health.failed(isRefusal: true, now: .zero, jitter: 1)
    #expect(loss == .lost && mayAsk(isChange: false, 0) && !mayAsk(isChange: true, 0))
    let read = health.succeeded(isChange: false)
    #expect(read == nil && health.isRefusing && mayAsk(isChange: true, 1))
    let change = health.succeeded(isChange: true)
    #expect(change == .back)
  }

  @Test("More removals than can be remembered become a removal of all, and a later removal stays")
  func removals() {
    var removals = PendingRemovals()
    for number in 0..<1_000 { removals.add([UInt8(number % 250), UInt8(number / 250)]) }
    #expect(removals.urls.count == 1_000 && removals.all == nil)
    removals.add([0, 0])
    #expect(removals.all == nil)
    removals.add([7, 7, 7])
    #expect(removals.urls.isEmpty && removals.all != nil)
    removals.settledAll(1)
    #expect(removals.all != nil)
    removals.settledAll(removals.all ?? 0)
    removals.add([1])
    let earlier = removals.urls[[1]] ?? 0
    removals.add([1])
    removals.settled([1], earlier)
    #expect(removals.urls.count == 1)
    removals.settled([1], removals.urls[[1]] ?? 0)
    #expect(removals == removals && removals.urls.isEmpty && removals.all == nil)
  }
}
