// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

extension CircuitBreaker {
  /// The state of a circuit after it has heard of other instances.
  private struct Heard {
    let place: KeyedMachines<CircuitMachine>.Place
    var needsTurn = false
    var isOpenByOther = false
  }

  /// The number of times that an instance asks for its turn, and gets a new verdict instead.
  private static let tries = 3
  /// The longest wait for the turn, over all tries.
  private static let longestWait = Duration.milliseconds(500)

  /// Requests permission for one attempt, as `permit(for:)`, and takes the verdicts of other instances into account.
  /// It waits only if the attempt is a probe, for the turn to probe.
  ///
  /// - Parameters:
  ///   - key: the key of the request.
  ///   - shared: the circuits of other instances.
  ///   - left: the time left for the whole attempt; `nil` for no limit.
  ///   - telling: the notes of the attempt.
  func permit(
    for key: ResilienceKey, heeding shared: any SharedCircuits, left: Duration?, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> CircuitPermit {
    var heard = hear(of: key, from: shared, &telling)
    if heard.needsTurn {
      let start = time.now()
      heard = try await turn(toProbe: key, heard, from: shared, left: left, &telling)
      let waited = time.now() - start
      telling.notes.append(.init("probe", text: "waited \(waited.brief) for the turn to probe", wait: waited))
    }
    do throws(TransportError) {
      let permit = try permit(for: key, at: heard.place)
      if permit.isFirstProbe { telling.addCircuitNote(from: .open(left: .zero), to: .halfOpen) }
      return permit
    } catch {
      guard heard.isOpenByOther, case .open(let wait) = state(of: key) else { throw error }
      throw .circuitOpen(key, wait, because: "another instance reported that too many attempts failed")
    }
  }

  /// Waits for the turn to probe, or for a verdict that makes it unnecessary.
  private func turn(
    toProbe key: ResilienceKey, _ first: Heard, from shared: any SharedCircuits, left: Duration?,
    _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> Heard {
    var heard = first
    let rest = Countdown(min(left ?? Self.longestWait, Self.longestWait), now: time.now)
    for _ in 0..<Self.tries where heard.needsTurn {
      // An attempt that can wait no longer probes without its turn.
      guard let left = rest.left, left > .zero else { return heard }
      switch await shared.turn(toProbe: key, for: policy.breakDuration, within: left) {
      case .taken: return heard
      case .other(let left): throw .circuitOpen(key, left, because: "another instance probes the server")
      case .news: heard = hear(of: key, from: shared, &telling)
      case .cancelled: throw .cancelled()
      }
    }
    return heard
  }

  /// Takes the last verdict of another instance into account.
  private func hear(
    of key: ResilienceKey, from shared: any SharedCircuits, _ telling: inout ResilienceTelling
  ) -> Heard {
    let now = time.now()
    let (place, old, generation) = circuits.withLock { circuits in
      let place = circuits.place(of: key, now: now)
      return (place, circuits[place].state(now: now), circuits[place].generation)
    }
    // Keys beyond the limit share a circuit, of which the others know nothing.
    guard place.isOwn else { return Heard(place: place) }
    let news = shared.attempt(on: key, isClosed: old == .closed, now: now)
    telling.notes += news.notes
    if old == .closed, news.verdict == nil { return Heard(place: place) }
    let unit = news.verdict == nil ? 0 : random.unit()
    let (heard, wasOpen, new) = circuits.withLock { circuits in
      let before = (generation: circuits[place].generation, isOpen: circuits[place].isOpen)
      // A verdict from before a change of this circuit is not about its new state.
      if let verdict = news.verdict, before.generation == generation {
        circuits[place].hear(verdict, now: now, unit: unit)
      }
      let heard = Heard(
        place: place, needsTurn: circuits[place].needsTurn(now: now),
        isOpenByOther: circuits[place].isOpen && circuits[place].isOpenByOther)
      let hasChanged = before.generation != circuits[place].generation
      return (heard, before.isOpen, hasChanged ? circuits[place].state(now: now) : nil)
    }
    if let new {
      telling.addCircuitNote(
        from: wasOpen ? .open(left: .zero) : .closed, to: new,
        because: "another instance \(wasOpen ? "closed" : "opened") it")
    }
    return heard
  }

  /// Returns the state of a circuit, for `explain`.
  func words(of key: ResilienceKey) -> String {
    let now = time.now()
    let circuit = circuits.withLock { $0.known(key) }
    let state = circuit?.state(now: now) ?? .closed
    var words = "\(state)"
    if case .open(let left) = state {
      words += ", for \(left.brief)"
      if circuit?.isOpenByOther ?? false { words += ", because another instance opened it" }
    }
    if let shared { words += "; \(shared.words())" }
    return words
  }
}
