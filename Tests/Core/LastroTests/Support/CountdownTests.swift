// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import Testing

@Suite("Countdown")
struct CountdownTests {
  @Test("The remaining time decreases with the clock to zero and not below")
  func left() {
    let clock = ManualClock()
    let countdown = Countdown(.seconds(5), now: clock.timeSource.now)
    #expect(countdown.left == .seconds(5))
    clock.advance(by: .seconds(3))
    #expect(countdown.left == .seconds(2))
    clock.advance(by: .seconds(3))
    #expect(countdown.left == .zero)
  }

  @Test("A countdown without a limit never ends; a negative limit ends at once")
  func extremes() {
    #expect(Countdown(nil).left == nil)
    #expect(Countdown(.seconds(-1), now: ManualClock().timeSource.now).left == .zero)
  }

  @Test("A limit beyond what clocks can count is some thirty years")
  func longest() {
    let countdown = Countdown(.seconds(Int64.max), now: ManualClock().timeSource.now)
    #expect(countdown.left == .seconds(1_000_000_000))
  }

  @Test("Moving the end extends the remaining time; without an end there is still none")
  func extended() {
    var countdown = Countdown(.seconds(5), now: ManualClock().timeSource.now)
    countdown.extend(by: .seconds(2))
    #expect(countdown.left == .seconds(7))
    var endless = Countdown(nil)
    endless.extend(by: .seconds(2))
    #expect(endless.left == nil)
  }
}
