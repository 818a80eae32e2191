// SPDX-License-Identifier: Apache-2.0

/// The record of one run of a simulation. Runs with the same seed, faults and code have equal records.
///
/// All times count from the start of the simulation.
public struct SimulationTrace: Sendable, Hashable {
  /// A call of a machine's stack.
  public struct Call: Sendable, Hashable {
    /// The name of the machine.
    public internal(set) var machine: String
    /// The operation of the resource; `nil` if it has none.
    public internal(set) var operation: String?
    /// The method of the latest request, such as `GET`; empty before the first.
    public internal(set) var method = ""
    /// The URL of the latest request; empty before the first.
    public internal(set) var url = ""
    /// The time at which the call began.
    public internal(set) var start: Duration
    /// The time at which the call ended; `nil` if it did not, or if its machine crashed.
    public internal(set) var end: Duration?
    /// The status of the last response; `nil` if there was none.
    public internal(set) var status: Int?
    /// The error, on one line; `nil` if the call succeeded.
    public internal(set) var failure: String?
    /// Whether the machine crashed during the call.
    public internal(set) var wasAbandoned = false

    init(machine: String, operation: String?, start: Duration) {
      self.machine = machine
      self.operation = operation
      self.start = start
    }

    /// Whether the call ended without an error.
    public var hasSucceeded: Bool { end != nil && failure == nil }
  }

  /// A request that a server's code received.
  public struct Request: Sendable, Hashable {
    /// The name of the server's machine.
    public internal(set) var server: String
    /// The method, such as `POST`.
    public internal(set) var method: String
    /// The URL.
    public internal(set) var url: String
    /// The index of its call in ``SimulationTrace/calls``; `nil` for a request of another client.
    public internal(set) var call: Int?
    /// The value of the field `Idempotency-Key`; `nil` if there is none.
    public internal(set) var idempotencyKey: String?
    /// The time at which the code received the request.
    public internal(set) var time: Duration
    /// The status of the code's response; `nil` if the code never responded, or with a fault.
    public internal(set) var status: Int?

    /// Whether the response says that the request was not processed: with REFUSED_STREAM or GOAWAY (RFC 9113 §8.7).
    public internal(set) var wasRefused = false

    init(server: String, method: String, url: String, call: Int?, idempotencyKey: String?, time: Duration) {
      self.server = server
      self.method = method
      self.url = url
      self.call = call
      self.idempotencyKey = idempotencyKey
      self.time = time
    }
  }

  /// The calls, in the order in which they began.
  public private(set) var calls: [Call] = []
  /// The requests, in the order in which servers received them.
  public private(set) var requests: [Request] = []
  /// The faults that occurred, in order.
  public private(set) var faults: [SimulatedFault] = []
  /// The lines of ``SimulatedMachine/log(_:)``, faults, and the errors of programs and servers, in order.
  public private(set) var lines: [String] = []
  /// The errors of machines' programs that threw one, each with the machine's name.
  public private(set) var programErrors: [String] = []
  /// The duration of the run.
  public private(set) var duration = Duration.zero
  /// The number of steps that ran: parts of tasks, events of the network, and turns of event loops.
  public private(set) var steps = 0
  /// A number that depends on each step and on the order of all steps.
  public private(set) var digest: UInt64 = 0

  /// The time at which the effect of the last fault ended; zero without faults.
  public var lastFaultEnd: Duration { faults.map(\.end).max() ?? .zero }

  /// Returns the part of a time in which faults paused a machine.
  func pause(of machine: String, from start: Duration, to end: Duration) -> Duration {
    var sum = Duration.zero, counted = start
    // They began in this order, and may overlap.
    for fault in faults where fault.kind == .pause(machine) {
      let first = max(counted, fault.start), last = min(end, fault.end)
      guard last > first else { continue }
      sum += last - first
      counted = last
    }
    return sum
  }

  // MARK: Recording

  mutating func addCall(_ call: Call) -> Int {
    calls.append(call)
    return calls.count - 1
  }

  mutating func setRequest(_ method: String, _ url: String, ofCall index: Int) {
    calls[index].method = method
    calls[index].url = url
  }

  mutating func endCall(_ index: Int, status: Int?, failure: String?, at time: Duration) {
    guard !calls[index].wasAbandoned else { return }
    calls[index].end = time
    calls[index].status = status
    calls[index].failure = failure
  }

  mutating func abandonCalls(of machine: String, at time: Duration) {
    for index in calls.indices where calls[index].machine == machine && calls[index].end == nil {
      calls[index].wasAbandoned = true
    }
  }

  mutating func addRequest(_ request: Request) -> Int {
    requests.append(request)
    return requests.count - 1
  }

  mutating func setResponse(status: Int?, wasRefused: Bool, ofRequest index: Int) {
    requests[index].status = status
    requests[index].wasRefused = wasRefused
  }

  mutating func add(_ fault: SimulatedFault) { faults.append(fault) }

  mutating func log(_ line: String, at time: Duration) { lines.append("\(time.inShort) \(line)") }

  mutating func fail(_ machine: String, _ error: any Error) { programErrors.append("\(machine): \(error)") }

  mutating func finish(at time: Duration, digest: UInt64, steps: Int) {
    duration = time
    self.digest = digest
    self.steps = steps
  }
}

extension Duration {
  /// The duration in seconds with three decimals, such as `3.250 s`.
  var inShort: String {
    let milliseconds = inNanoseconds / 1_000_000
    let rest = String(abs(milliseconds % 1_000))
    return "\(milliseconds / 1_000)." + String(repeating: "0", count: 3 - rest.count) + rest + " s"
  }
}
