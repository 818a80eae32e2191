// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The decisions of a ``DialRace``: which address is dialed when, which attempts are closed, which addresses count as
/// dead, and the error if none can be used.
///
/// It dials nothing and has no clock. Each event is a method that returns the steps to carry out, in order, and the
/// outcome of a step is an event like any other. ``Step/adopt(_:_:)`` and ``Step/end(_:hasTriedAll:)`` are last steps.
struct RaceMachine {
  enum Step {
    /// Begin an attempt at the address.
    case dial(String)
    /// Close the attempt at the address.
    case close(String)
    /// The address could not be connected to, or another one was much faster.
    case noteDead(String)
    case noteAlive(String)
    /// The connection to the address becomes that of the dial.
    case adopt(String, StreamSession.Lead)
    /// The dial fails. If all addresses were tried, and nothing accepted a connection at any of them, the resolver
    /// learns of it.
    case end(TransportError, hasTriedAll: Bool)
  }

  /// The facts of the dial.
  struct Terms {
    let host: String
    let port: Int
    /// The error of a dial that does not connect in time.
    let lateness: TransportError
    /// The time at which the dial fails; `Int64.max` for never.
    let expiresAt: Int64
    /// Whether errors leave out the addresses. With an egress policy, the author of the URL must not learn them.
    var hidesAddresses = false
    /// Whether the other addresses are tried after the egress policy denied one.
    var triesAllowedOfMixed = false

    var name: String { "\(host.bracketedHost):\(port)" }
  }

  /// The maximum number of addresses whose failures an error lists.
  private static let mostTold = 8

  private let terms: Terms
  private let beganAt: Int64
  private var answeredAt: Int64
  private var schedule = AddressSchedule()
  private var isAsking = true
  private var isOver = false
  private var failures: [(address: String, error: TransportError)] = []

  init(_ terms: Terms, now: Int64) {
    self.terms = terms
    beganAt = now
    answeredAt = now
  }

  /// The next time at which ``timePassed(now:)`` has to be called.
  var due: Int64 { isOver ? .max : min(terms.expiresAt, schedule.due) }

  // MARK: Events

  /// Begins with the addresses that the resolver returned for the name, best first.
  mutating func resolved(_ addresses: [String], now: Int64, isDead: (String) -> Bool) -> [Step] {
    guard isAsking, !isOver else { return [] }
    isAsking = false
    answeredAt = now
    schedule.add(addresses, isComplete: true, isDead: isDead)
    return proceed(now: now)
  }

  /// Starts the attempt that is due, or ends the dial when its time has passed.
  mutating func timePassed(now: Int64) -> [Step] {
    if isOver { return [] }
    guard now >= terms.expiresAt else { return proceed(now: now) }
    let dead = running.filter { hadTime($0, now: now) }
    return dead.map { .noteDead($0) } + end(lateness)
  }

  /// Ends the race with an attempt that connected.
  mutating func connected(_ address: String, now: Int64) -> [Step] {
    guard !isOver, let began = schedule.running[address] else { return [] }
    let slow = schedule.attemptSucceeded(address).sorted()
    isOver = true
    let lead = StreamSession.Lead(lookUp: answeredAt - beganAt, attempt: began - beganAt)
    return [.noteAlive(address)] + slow.map { .noteDead($0) } + running.map { .close($0) } + [.adopt(address, lead)]
  }

  /// Starts the next attempt after one that failed, or ends the dial.
  mutating func failed(_ address: String, _ error: TransportError, now: Int64) -> [Step] {
    guard !isOver, schedule.running[address] != nil else { return [] }
    failures.append((address, error))
    let isLate = error.code == .connectTimeout && hadTime(address, now: now)
    let isDead = error.stage == .connect || isLate
    schedule.attemptFailed(address, isFinal: isFinal(error))
    return (isDead ? [.noteDead(address)] : []) + proceed(now: now)
  }

  /// Ends the dial for a reason outside of the race, or because there are no addresses.
  mutating func end(_ error: TransportError) -> [Step] {
    if isOver { return [] }
    isOver = true
    let open = running
    schedule.cancel()
    let hasTriedAll = open.isEmpty && !failures.isEmpty && failures.allSatisfy { $0.error.stage == .connect }
    return open.map { .close($0) } + [.end(error, hasTriedAll: hasTriedAll)]
  }

  // MARK: Decisions

  /// Starts the attempt that is due.
  private mutating func proceed(now: Int64) -> [Step] {
    var steps: [Step] = []
    while let address = schedule.next(now: now) { steps.append(.dial(address)) }
    return schedule.state == .failed ? steps + end(failure) : steps
  }

  /// The running attempts, in the order in which they began.
  private var running: [String] {
    schedule.running.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
  }

  /// Returns whether a running attempt had enough time: the delay before the next attempt, or half of the total time if
  /// that is shorter. An attempt without enough time does not show that its address is dead.
  private func hadTime(_ address: String, now: Int64) -> Bool {
    let began = schedule.running[address] ?? now
    return now - began >= min(AddressSchedule.stagger, (terms.expiresAt - beganAt) / 2)
  }

  /// Returns whether a failure ends the race. This is so for a refusal of trust, for an error of the request, and for
  /// an egress denial if the policy says so.
  private func isFinal(_ error: TransportError) -> Bool {
    switch error.code {
    case .egressDenied: !terms.triesAllowedOfMixed
    case .untrustedCertificate, .hostMismatch, .certificateExpired, .certificateStatusInvalid,
      .invalidTLSConfiguration:
      true
    default: error.stage == .trust || error.stage == .request
    }
  }

  // MARK: Errors

  /// The error of a failed race: the refusal that ended it, or a summary of all addresses.
  private var failure: TransportError {
    guard let last = failures.last?.error else { return .missingName(terms.host) }
    if isFinal(last) { return last }
    guard let told = failures.last(where: { $0.error.code != .egressDenied })?.error else { return last }
    if told.code == .connectTimeout { return lateness }
    return failures.count == 1 ? told : told.ofAddresses(account, of: terms.name)
  }

  private var lateness: TransportError {
    if isAsking { return terms.lateness.stillResolving }
    let failed = failures.filter { $0.error.code != .connectTimeout }
    return failed.isEmpty ? terms.lateness : terms.lateness.ofAddresses(account, of: terms.name)
  }

  /// A description of the failure of each address.
  private var account: String {
    let told = failures.prefix(Self.mostTold).enumerated().map { index, failure in
      let address = terms.hidesAddresses ? "address \(index + 1)" : failure.address
      let reason = failure.error.systemCode.map { SystemError.text($0) } ?? failure.error.message
      return "\(address): \(reason)"
    }
    let rest = failures.count - told.count
    return told.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
  }
}
