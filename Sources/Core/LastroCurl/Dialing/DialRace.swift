// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// A dial of a name whose addresses a resolver supplies, with one attempt per address as ``AddressSchedule``
/// determines.
///
/// Attempts are separate dials with the race's name and trust. The first attempt that connects becomes the dial's
/// session, and the others are closed. Owner: ``StreamHub/races``. Thread: the loop's.
final class DialRace: DialDelegate {
  /// The maximum number of addresses whose failures an error lists.
  private static let mostTold = 8

  let dial: StreamDial
  private let source: NameSource
  private let rules: EgressRules?
  private unowned let hub: StreamHub
  private let beganAt: Int64
  private var answeredAt: Int64
  private var schedule = AddressSchedule()
  private var giveUpAsking: (@Sendable () -> Void)?
  /// The running attempts, by the ids of their dials.
  private var attempts: [UInt64: String] = [:]
  private var beginnings: [UInt64: Int64] = [:]
  private var failures: [(address: String, error: TransportError)] = []
  /// Whether attempts are being started. An attempt may fail as soon as it starts, and many in a row must not nest.
  private var isBeginning = false

  init(_ dial: StreamDial, asking source: NameSource, rules: EgressRules?, hub: StreamHub) {
    self.dial = dial
    self.source = source
    self.rules = rules
    self.hub = hub
    beganAt = monotonicNow()
    answeredAt = beganAt
  }

  // MARK: The addresses

  func start() {
    let name = dial.host.text, id = dial.id, inbox = hub.inbox
    switch SpecialName(name) {
    case .missing: end(.missingName(name))
    case .loopback?: take(addresses: SpecialName.loopback.addresses)
    case nil:
      giveUpAsking = source.ask(name, dial.request.port) { answer in
        _ = inbox.post(StreamCommand.named(id, answer.named(name)))
      }
    }
  }

  func answered(_ answer: Result<[String], TransportError>) {
    guard giveUpAsking != nil else { return }
    giveUpAsking = nil
    answeredAt = monotonicNow()
    switch answer {
    case .failure(let error): end(error)
    case .success(let addresses): take(addresses: addresses)
    }
  }

  private func take(addresses: [String]) {
    let now = monotonicNow()
    schedule.add(addresses, isComplete: true) { hub.deadAddresses.contains(key(of: $0), now: now) }
    proceed()
  }

  private func key(of address: String) -> DeadAddressKey { .init(address: address, port: dial.request.port) }

  // MARK: The attempts

  /// Starts the attempts that are due.
  func proceed() {
    guard !isBeginning else { return }
    isBeginning = true
    while let address = schedule.next(now: monotonicNow()) {
      let attempt = StreamDial(attempting: address, of: dial)
      attempts[attempt.id] = address
      beginnings[attempt.id] = monotonicNow()
      hub.attempt(attempt, for: self)
    }
    isBeginning = false
    if schedule.state == .failed { return end(failure) }
    hub.deadlines.add(schedule.due, dial.id)
  }

  /// Adds the times at which ``expire(now:)`` has to be called.
  func addDeadlines() {
    hub.deadlines.add(dial.expiresAt, dial.id)
    hub.deadlines.add(schedule.due, dial.id)
  }

  /// Acts on an expired deadline: that of the next attempt, or of the whole dial.
  func expire(now: Int64) {
    guard now >= dial.expiresAt else { return proceed() }
    for (id, address) in attempts.sorted(by: { $0.key < $1.key }) where hadTime(id, now: now) {
      hub.deadAddresses.note(key(of: address), now: now)
    }
    end(lateness)
  }

  /// Returns whether an unfinished attempt had enough time: the delay before the next attempt, or half of the total
  /// time if that is shorter. An attempt without enough time does not show that its address is dead.
  private func hadTime(_ id: UInt64, now: Int64) -> Bool {
    let began = beginnings[id] ?? now
    return now - began >= min(AddressSchedule.stagger, (dial.expiresAt - beganAt) / 2)
  }

  func sessions(of attempt: UInt64, for profile: StreamProfile) -> SessionShare? {
    hub.sessions(of: dial, for: profile)
  }

  func didConnect(_ session: StreamSession) {
    guard let address = attempts.removeValue(forKey: session.id) else { return }
    let now = monotonicNow()
    let began = beginnings[session.id] ?? beganAt
    session.lead = StreamSession.Lead(lookUp: answeredAt - beganAt, attempt: began - beganAt)
    hub.deadAddresses.forget(key(of: address))
    for slow in schedule.noteWon(address) { hub.deadAddresses.note(key(of: slow), now: now) }
    dropAttempts()
    hub.adopt(session, for: dial)
  }

  func fail(_ id: UInt64, _ error: TransportError) {
    guard let address = attempts.removeValue(forKey: id) else { return }
    failures.append((address, error))
    let now = monotonicNow()
    let isLate = error.code == .connectTimeout && hadTime(id, now: now)
    if error.stage == .connect || isLate { hub.deadAddresses.note(key(of: address), now: now) }
    schedule.noteFailed(address, isFinal: isFinal(error))
    proceed()
  }

  /// Returns whether a failure ends the race. This is so for a refusal of trust, for an error of the request, and for
  /// an egress denial if the policy says so.
  private func isFinal(_ error: TransportError) -> Bool {
    switch error.code {
    case .egressDenied: rules?.usesAllowedOfMixed != true
    case .untrustedCertificate, .hostMismatch, .certificateExpired, .certificateStatusInvalid,
      .invalidTLSConfiguration:
      true
    default: error.stage == .trust || error.stage == .request
    }
  }

  private func dropAttempts() {
    for id in attempts.keys.sorted() { hub.drop(id) }
    attempts = [:]
  }

  // MARK: The end

  /// Ends the race and its attempts.
  func end(_ error: TransportError) {
    giveUpAsking?()
    giveUpAsking = nil
    schedule.cancel()
    let hasTriedAll = attempts.isEmpty && !failures.isEmpty && failures.allSatisfy { $0.error.stage == .connect }
    dropAttempts()
    hub.end(self, error)
    if hasTriedAll { source.noteUnreachable(dial.host.text, dial.request.port) }
  }

  /// The error of a failed race: the refusal that ended it, or a summary of all addresses.
  private var failure: TransportError {
    guard let last = failures.last?.error else { return .missingName(dial.host.text) }
    if isFinal(last) { return last }
    guard let told = failures.last(where: { $0.error.code != .egressDenied })?.error else { return last }
    if told.code == .connectTimeout { return lateness }
    return failures.count == 1 ? told : told.ofAddresses(account, of: dial.name)
  }

  private var lateness: TransportError {
    let error = TransportError.dialTimeout(dial)
    if giveUpAsking != nil { return error.stillResolving }
    let failed = failures.filter { $0.error.code != .connectTimeout }
    return failed.isEmpty ? error : error.ofAddresses(account, of: dial.name)
  }

  /// A description of the failure of each address. With an egress policy it omits the addresses, because the author of
  /// the URL must not learn them.
  private var account: String {
    let told = failures.prefix(Self.mostTold).enumerated().map { index, failure in
      let address = rules == nil ? failure.address : "address \(index + 1)"
      let reason = failure.error.systemCode.map { SystemError.text($0) } ?? failure.error.message
      return "\(address): \(reason)"
    }
    let rest = failures.count - told.count
    return told.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
  }
}

/// An address and port that could not be connected to.
struct DeadAddressKey: Hashable {
  let address: String
  let port: Int
}

extension NameSource.Answer {
  /// Returns the answer for a dial, in which a name without an address is an error.
  func named(_ name: String) -> Result<[String], TransportError> {
    switch self {
    case .success([]): .failure(.missingName(name))
    case .success(let addresses): .success(addresses)
    case .failure(let error): .failure(error as? TransportError ?? .foreignNameError(error))
    }
  }
}

extension TransportError {
  static func missingName(_ name: String) -> TransportError {
    TransportError(
      stage: .resolve, code: .hostNotFound, message: "the name \(name) has no address",
      hint: "check the name, and what ConnectionOptions.resolver returns for it")
  }

  static func foreignNameError(_ error: any Error) -> TransportError {
    TransportError(
      stage: .resolve, code: .hostNotFound, message: "the resolver failed: \(error)",
      hint: "let it throw a TransportError")
  }

  /// Returns the same error for several addresses.
  func ofAddresses(_ account: String, of name: String) -> TransportError {
    var error = TransportError(
      stage: stage, code: code, message: "\(name) was reached at none of its addresses: \(account)", hint: hint,
      engineCode: engineCode)
    error.systemCode = systemCode
    return error
  }

  /// The same error, for a limit that expired before there was an address.
  var stillResolving: TransportError {
    TransportError(
      stage: stage, code: code, message: message + ", while the resolver looked the name up", hint: hint)
  }
}
