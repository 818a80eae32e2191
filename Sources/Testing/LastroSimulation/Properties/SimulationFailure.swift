// SPDX-License-Identifier: Apache-2.0

/// A run of a simulation that broke a promise, with all that repeats it.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
  /// The name of the promise, such as `noRequestTwice(of: POST)`; `everyProgramEnds` if a program has not ended.
  public let property: String
  /// The way in which the run broke the promise.
  public let violation: String
  /// The seed of the run.
  public let seed: UInt64
  /// The number for the order of what could run at the same time.
  public let order: UInt64
  /// The maximum number of machines of one name; `nil` if it was not limited.
  public let instances: Int?
  /// The faults of the run.
  public let faults: [SimulatedFault]
  /// The record of the run.
  public let trace: SimulationTrace
  /// The number of smaller runs that were tried to find this one.
  public internal(set) var attempts = 0

  /// A test that repeats the run, as Swift code. It names the simulation `simulation`.
  public var test: String {
    var arguments = ["seed: \(seed)"]
    if order != 0 { arguments.append("order: \(order)") }
    if let instances { arguments.append("instances: \(instances)") }
    if !faults.isEmpty {
      let lines = ["faults: .exactly(["] + faults.map { "      \($0)," } + ["    ])"]
      arguments.append(lines.joined(separator: "\n"))
    }
    return """
      @Test func repeatsFailure() async throws {
        try await simulation.run(
          \(arguments.joined(separator: ", ")))
      }
      """
  }

  /// The promise, the violation, the end of the trace and the code of ``test``.
  public var description: String {
    let lines = trace.lines.isEmpty ? [] : ["the end of the trace:"] + trace.lines.suffix(12).map { "  \($0)" }
    let repeated = ["this test repeats it:", "", test]
    return (["the simulation broke \(property): \(violation)"] + lines + repeated).joined(separator: "\n")
  }
}
