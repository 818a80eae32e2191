// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// A dial of a name whose addresses a resolver supplies, with one attempt per address. ``RaceMachine`` decides, and the
/// race carries out its steps.
///
/// Attempts are separate dials with the race's name and trust. The first attempt that connects becomes the dial's
/// session, and the others are closed. Owner: ``StreamHub/pending``. Thread: the loop's.
final class DialRace: DialDelegate {
  let dial: StreamDial
  private let source: NameSource
  private unowned let hub: StreamHub
  private var machine: RaceMachine
  /// The addresses of the running attempts, by the ids of their dials.
  private var attempts: [UInt64: String] = [:]
  /// The connection of the latest attempt that connected.
  private var connected: StreamSession?
  /// The steps to carry out. An attempt may fail as soon as it starts, and many in a row must not nest.
  private var steps: [RaceMachine.Step] = []
  private var isActing = false

  init(_ dial: StreamDial, asking source: NameSource, rules: EgressRules?, hub: StreamHub) {
    self.dial = dial
    self.source = source
    self.hub = hub
    let terms = RaceMachine.Terms(
      host: dial.host.text, port: dial.request.port, lateness: .dialTimeout(dial), expiresAt: dial.expiresAt,
      hidesAddresses: rules != nil, triesAllowedOfMixed: rules?.usesAllowedOfMixed == true)
    machine = RaceMachine(terms, now: monotonicNow())
  }

  // MARK: Events

  func answered(_ answer: Result<[String], TransportError>) {
    switch answer {
    case .failure(let error): end(error)
    case .success(let addresses):
      let now = monotonicNow()
      act(machine.resolved(addresses, now: now) { hub.deadAddresses.contains(key(of: $0), now: now) })
    }
  }

  /// Acts on an expired deadline: that of the next attempt, or of the whole dial.
  func expire(now: Int64) { act(machine.timePassed(now: now)) }

  func sessions(of attempt: UInt64, for profile: StreamProfile) -> SessionShare? {
    hub.sessions(of: dial, for: profile)
  }

  func didConnect(_ session: StreamSession) {
    guard let address = attempts.removeValue(forKey: session.id) else { return }
    connected = session
    act(machine.connected(address, now: monotonicNow()))
  }

  func fail(_ id: UInt64, _ error: TransportError) {
    guard let address = attempts.removeValue(forKey: id) else { return }
    act(machine.failed(address, error, now: monotonicNow()))
  }

  /// Ends the race and its attempts.
  func end(_ error: TransportError) { act(machine.end(error)) }

  // MARK: Steps

  private func act(_ next: [RaceMachine.Step]) {
    steps += next
    if isActing { return }
    isActing = true
    defer { isActing = false }
    while !steps.isEmpty { carryOut(steps.removeFirst()) }
    addDeadline()
  }

  private func carryOut(_ step: RaceMachine.Step) {
    switch step {
    case .dial(let address):
      let attempt = StreamDial(attempting: address, of: dial)
      attempts[attempt.id] = address
      hub.dial(attempt, for: self)
    case .close(let address):
      guard let id = attempts.first(where: { $0.value == address })?.key else { return }
      attempts[id] = nil
      hub.drop(id)
    case .noteDead(let address): hub.deadAddresses.note(key(of: address), now: monotonicNow())
    case .noteAlive(let address): hub.deadAddresses.forget(key(of: address))
    case .adopt(_, let lead):
      guard let session = connected.take() else { return }
      session.lead = lead
      hub.adopt(session, for: dial)
    case .end(let error, let hasTriedAll):
      hub.drop(pending: dial.id, error)
      if hasTriedAll { source.connectionFailed(dial.host.text, dial.request.port) }
    }
  }

  private func key(of address: String) -> DeadAddressKey { .init(address: address, port: dial.request.port) }

  /// Adds the time at which ``expire(now:)`` has to be called.
  func addDeadline() { hub.deadlines.add(machine.due, dial.id) }
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
