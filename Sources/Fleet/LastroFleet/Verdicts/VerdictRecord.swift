// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroResilience

/// The last verdict on a server, and the instance that probes it, as they are kept in a store. Times are in microseconds
/// of the store's clock.
struct VerdictRecord: Sendable, Hashable, Codable {
  /// The verdict that an instance reports, and the turn that it asks for.
  struct Request: Sendable, Hashable {
    /// The random name of the instance.
    var instance: String
    var report: Report?
    /// The length of the turn to probe; `nil` if the instance does not ask for it.
    var turn: Duration?
    /// The last verdict that the instance knows.
    var known: UInt64?
  }

  /// The verdict of an instance.
  enum Report: Sendable, Hashable {
    /// Attempts opened the circuit, for the rest of a break.
    case opened(left: Duration)
    /// Probes closed the circuit: that of the last verdict that the instance knows, of its own, or of its turn.
    case closed
  }

  /// The result of an exchange.
  struct Reply: Sendable, Hashable {
    /// The verdict that applies; `nil` if there is none.
    var verdict: CircuitVerdict?
    /// Whether the verdict is that of the instance itself.
    var isOwn = false
    /// The response to the request for a turn; `nil` if there was no such request.
    var turn: ProbeTurn?
  }

  /// The longest break of a verdict, whatever the store says.
  static let longestBreak = Duration.seconds(3600)
  /// The longest turn to probe.
  static let longestTurn = Duration.seconds(60)
  /// The time for which a verdict is kept after its break, so that instances hear of a closing.
  private static let keptAfter = Duration.seconds(600)

  /// A random number, which distinguishes the verdict from others.
  var id: UInt64
  /// Whether a circuit was opened. If not, probes closed it.
  var isOpen: Bool
  /// The instance whose verdict it is.
  var by: String
  /// The end of the break.
  var until: Int64
  /// The instance that probes; `nil` if none does.
  var prober: String?
  /// The time at which its turn ends.
  var probesUntil: Int64 = 0

  /// The time after which the store may forget it.
  func lifetime(at time: Duration) -> Duration {
    let now = time.wholeMicroseconds
    return Self.keptAfter + max(breakLeft(now), Self.rest(probesUntil, now, Self.longestTurn))
  }

  /// Returns the state after an exchange; `nil` if it need not be written.
  ///
  /// - Parameter id: a random number for a new verdict.
  static func exchange(
    _ record: VerdictRecord?, _ request: Request, at time: Duration, id: UInt64
  ) -> (next: VerdictRecord?, reply: Reply) {
    let now = time.wholeMicroseconds
    var next = record
    if let report = request.report { next = next.reported(report, request, now, id) }
    var reply = Reply()
    if let length = request.turn {
      let turn = next.turn(request, now)
      reply.turn = turn
      if turn == .taken {
        var taken = next ?? VerdictRecord(id: id, isOpen: true, by: request.instance, until: now)
        taken.prober = request.instance
        taken.probesUntil = now + min(length, longestTurn).wholeMicroseconds
        next = taken
      }
    }
    if let next {
      let left = next.isOpen ? next.breakLeft(now) : .zero
      reply.verdict = CircuitVerdict(id: next.id, isOpen: next.isOpen, left: left)
      reply.isOwn = next.by == request.instance
    }
    return (next == record ? nil : next, reply)
  }

  /// The rest of the break.
  fileprivate func breakLeft(_ now: Int64) -> Duration { Self.rest(until, now, Self.longestBreak) }

  fileprivate static func rest(_ end: Int64, _ now: Int64, _ limit: Duration) -> Duration {
    // A hostile record may name any times.
    let (rest, isOverflow) = end.subtractingReportingOverflow(now)
    return isOverflow ? .zero : min(max(.zero, .microseconds(rest)), limit)
  }

  /// The form in which a store keeps the state.
  func encoded() throws(FleetStoreError) -> [UInt8] {
    guard let json = try? JSONEncoder().encode(self) else {
      throw FleetStoreError(
        .unreadable, "a shared circuit cannot be written", hint: "use another name for the circuits")
    }
    return Array(json)
  }

  /// Reads that form. A value of another form counts as none, and the next report replaces it: it is worth less than
  /// what instances find out themselves.
  init?(_ bytes: [UInt8]?) {
    guard let bytes, let record = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
    self = record
  }
}

extension VerdictRecord {
  init(id: UInt64, isOpen: Bool, by instance: String, until: Int64) {
    (self.id, self.isOpen, by, self.until) = (id, isOpen, instance, until)
  }
}

extension VerdictRecord? {
  /// Returns the state after a report.
  fileprivate func reported(
    _ report: VerdictRecord.Report, _ request: VerdictRecord.Request, _ now: Int64, _ id: UInt64
  ) -> VerdictRecord? {
    let instance = request.instance
    let isProber = self?.prober == instance
    var next: VerdictRecord
    switch report {
    case .opened(let left):
      // Instances that fail together have the same verdict; a failed probe is a new one.
      if let self, self.isOpen, self.breakLeft(now) > .zero, !isProber { return self }
      let length = Swift.min(Swift.max(left, .zero), VerdictRecord.longestBreak)
      next = VerdictRecord(id: id, isOpen: true, by: instance, until: now + length.wholeMicroseconds)
    case .closed:
      guard let self, self.isOpen else { return self }
      // A closing that was delayed says nothing about a circuit that another instance has opened since.
      let hasTurn = isProber && VerdictRecord.rest(self.probesUntil, now, VerdictRecord.longestTurn) > .zero
      guard self.by == instance || hasTurn || self.id == request.known else { return self }
      next = VerdictRecord(id: id, isOpen: false, by: instance, until: now)
    }
    if let self, !isProber { (next.prober, next.probesUntil) = (self.prober, self.probesUntil) }
    return next
  }

  /// Returns whether an instance may probe.
  fileprivate func turn(_ request: VerdictRecord.Request, _ now: Int64) -> ProbeTurn {
    guard let self else { return .taken }
    if self.by != request.instance, self.id != request.known, !self.isOpen || self.breakLeft(now) > .zero {
      return .news
    }
    let left = VerdictRecord.rest(self.probesUntil, now, VerdictRecord.longestTurn)
    guard let prober = self.prober, prober != request.instance, left > .zero else { return .taken }
    return .other(left: left)
  }
}
