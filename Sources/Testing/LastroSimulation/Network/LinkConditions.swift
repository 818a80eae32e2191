// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The behavior of the network between two machines of a simulation. It is the same in both directions.
///
/// ```swift
/// world.conditions = LinkConditions(delay: .milliseconds(20), jitter: .milliseconds(5), loss: 0.01)
/// ```
///
/// Connections behave like TCP: bytes arrive in order, and what is lost is sent again. A loss thus costs time, and
/// never bytes.
public struct LinkConditions: Sendable, Hashable {
  /// The time that bytes take in one direction. Default 1 ms.
  public var delay: Duration
  /// The longest addition to the delay, drawn for each write. Default zero.
  public var jitter: Duration
  /// The share of writes that are lost at first, 0 up to 0.9. Each loss delays the bytes by the time until they are sent
  /// again: 200 ms, and twice as long for each further loss (RFC 6298). Default 0.
  public var loss: Double
  /// The number of bytes that one direction of a connection carries in a second, at least 1. Default `nil`: any number.
  public var bytesPerSecond: Int?

  /// Creates the conditions of a network. Negative times count as zero.
  public init(
    delay: Duration = .milliseconds(1), jitter: Duration = .zero, loss: Double = 0, bytesPerSecond: Int? = nil
  ) {
    self.delay = delay
    self.jitter = jitter
    self.loss = loss
    self.bytesPerSecond = bytesPerSecond
  }

  /// Throws an error for values that no network has.
  func check() throws(ConfigurationError) {
    guard loss >= 0, loss <= 0.9 else {
      throw ConfigurationError("a loss of \(loss) is out of range (0…0.9)", hint: "give the share of lost writes")
    }
    guard bytesPerSecond.map({ $0 >= 1 }) ?? true else {
      throw ConfigurationError("bytesPerSecond is below 1", hint: "use a partition for a network that carries nothing")
    }
  }

  /// Returns the time between a write and its arrival, in nanoseconds, without the time that its bytes take.
  func travelTime(_ random: RandomSource) -> Int64 {
    var time = max(0, delay.inNanoseconds)
    if jitter > .zero { time += Int64(random.unit() * Double(jitter.inNanoseconds)) }
    guard loss > 0 else { return time }
    var wait: Int64 = 200_000_000
    // Six losses in a row already take 12.6 s.
    for _ in 0..<6 where random.unit() < loss {
      time += wait
      wait *= 2
    }
    return time
  }
}

extension Duration {
  /// The number of whole nanoseconds, at most those of 73 years in either direction, so that sums do not overflow.
  var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let longest = Int64.max / 4
    return isTooLong
      ? (seconds < 0 ? -longest : longest)
      : max(-longest, min(longest, whole + attoseconds / 1_000_000_000))
  }
}
