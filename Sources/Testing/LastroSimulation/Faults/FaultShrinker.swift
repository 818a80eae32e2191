// SPDX-License-Identifier: Apache-2.0

/// Makes a failing run smaller: with fewer machines, fewer and shorter faults.
struct FaultShrinker {
  typealias Attempt = (
    _ seed: UInt64, _ order: UInt64, _ instances: Int?, _ faults: [SimulatedFault]
  ) async throws -> SimulationFailure?

  /// The number of orders in which a smaller run is tried. What is left out changes the order of the rest.
  private static let orders: UInt64 = 8
  private static let mostAttempts = 400

  private var best: SimulationFailure
  private var attempts = 0
  private let programs: [String: Int]
  private let attempt: Attempt

  /// - Parameters:
  ///   - failure: the failing run.
  ///   - programs: the numbers of machines that run a program, by the names without a number.
  ///   - attempt: runs the simulation, and returns its failure.
  init(_ failure: SimulationFailure, programs: [String: Int], _ attempt: @escaping Attempt) {
    best = failure
    self.programs = programs
    self.attempt = attempt
  }

  /// Returns the smallest failing run that was found. At most 400 runs are tried.
  mutating func smallest() async throws -> SimulationFailure {
    try await removeMachines()
    var before = -1
    while before != best.faults.count {
      before = best.faults.count
      try await removeFaults()
    }
    try await shortenFaults()
    best.attempts = attempts
    return best
  }

  private mutating func removeMachines() async throws {
    let most = programs.values.max() ?? 1
    for count in 1..<max(1, most) {
      // The faults of a removed machine move to one that remains.
      let faults = best.faults.map { $0.renamed { remaining($0, of: count) } }
      if try await fails(instances: count, faults) { return }
    }
  }

  /// Returns the name of a machine if there are only a number of each program.
  private func remaining(_ name: String, of count: Int) -> String {
    guard let dash = name.lastIndex(of: "-"), let number = Int(name[name.index(after: dash)...]),
      programs[String(name[..<dash])] != nil
    else { return name }
    return "\(name[..<dash])-\((number - 1) % count + 1)"
  }

  /// Removes halves, quarters and so on, down to single faults.
  private mutating func removeFaults() async throws {
    var size = max(1, best.faults.count / 2)
    while true {
      var start = 0
      while start < best.faults.count {
        var fewer = best.faults
        fewer.removeSubrange(start..<min(start + size, fewer.count))
        if try await !fails(instances: best.instances, fewer) { start += size }
      }
      if size == 1 { return }
      size /= 2
    }
  }

  private mutating func shortenFaults() async throws {
    for index in best.faults.indices {
      for _ in 0..<4 {
        var shorter = best.faults
        guard let half = shorter[index].shortened else { break }
        shorter[index] = half
        if try await !fails(instances: best.instances, shorter) { break }
      }
    }
  }

  /// Returns whether a smaller run breaks the same promise, in some order. If so, it is the best so far.
  private mutating func fails(instances: Int?, _ faults: [SimulatedFault]) async throws -> Bool {
    for order in [best.order] + (1...Self.orders).filter({ $0 != best.order }) {
      guard attempts < Self.mostAttempts else { return false }
      attempts += 1
      if let failure = try await attempt(best.seed, order, instances, faults), failure.property == best.property {
        best = failure
        return true
      }
    }
    return false
  }
}

extension SimulatedFault {
  /// The fault for half its duration, in whole milliseconds; `nil` if it is too short.
  var shortened: Self? {
    let milliseconds = duration.inNanoseconds / 2_000_000
    return milliseconds > 0 ? Self(kind: kind, start: start, duration: .milliseconds(milliseconds)) : nil
  }
}
