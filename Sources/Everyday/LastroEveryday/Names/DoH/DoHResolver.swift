// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
internal import LastroWire

/// Resolves names by DNS over HTTPS (RFC 8484).
///
/// The resolver caches nothing: ``CachingResolver`` wraps it, and its initializer describes the behavior. It may be
/// called on any thread, by up to 4,096 tasks at once.
package final class DoHResolver: NameResolver {
  private enum Event: Sendable {
    case answered(FamilyAnswers.Family, FamilyAnswers.Outcome)
    case lateIsOver
  }

  static let mostLookUps = 4_096
  static let mostServers = 4
  /// The additional time that IPv6 gets after IPv4 has been received (RFC 8305 §3).
  static let patience = Duration.milliseconds(50)

  private let servers: [DoHServer]
  private let stack: any HTTPNetworkStack
  private let time: TimeSource
  private let underWay = Lock(0)

  /// The number of look-ups in progress, for tests.
  var lookUpsUnderWay: Int { underWay.withLock { $0 } }

  /// Creates a resolver.
  ///
  /// - Parameter time: the clock for the waits between families and servers.
  /// - Throws: `ConfigurationError` for no server or more than 4, an invalid URL, or a timeout that is not positive.
  package init(
    _ servers: [String], over stack: any HTTPNetworkStack, timeout: Duration = .seconds(5),
    time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard (1...Self.mostServers).contains(servers.count) else {
      throw ConfigurationError(
        "a resolver of \(servers.count) servers cannot work", hint: "give 1 to \(Self.mostServers) URLs")
    }
    guard timeout > .zero else {
      throw ConfigurationError(
        "the timeout of a question is \(timeout.brief), which is not positive", hint: "give a positive duration")
    }
    var read: [DoHServer] = []
    for server in servers { read.append(try DoHServer(server, timeout: timeout)) }
    self.servers = read
    self.stack = stack
    self.time = time
  }

  /// Looks up the addresses of a name.
  ///
  /// - Returns: the addresses; none for a name that does not exist, or has no address of either family.
  /// - Throws: `TransportError`: stage `resolve`, code `host_not_found`, if no server gives an answer; code
  ///   `invalid_option` for the name of one of its own servers; stage `limit`, code `queue_full`, if 4,096 look-ups are
  ///   in progress; stage `cancelled`.
  package func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    if name.isIPAddress { return try ResolvedName(addresses: [name.text]) }
    if let special = SpecialName(name.text) { return try ResolvedName(addresses: special.addresses) }
    guard !servers.contains(where: { $0.host == name.text }) else { throw .ownServer(name) }
    // A name that DNS cannot express has no address.
    guard let first = DNSQuestion(name.text, .a), let second = DNSQuestion(name.text, .aaaa) else {
      return try ResolvedName(addresses: [])
    }
    let isTooMany = underWay.withLock { count in
      if count < Self.mostLookUps { count += 1 } else { return true }
      return false
    }
    if isTooMany { throw .tooManyNames(Self.mostLookUps) }
    defer { underWay.withLock { $0 -= 1 } }
    return try await answer(to: [.ipv4: first, .ipv6: second], name).get()
  }

  private func answer(
    to questions: [FamilyAnswers.Family: DNSQuestion], _ name: HostName
  ) async -> Result<ResolvedName, TransportError> {
    await withTaskGroup(of: Event.self) { group in
      for (family, question) in questions {
        group.addTask { .answered(family, await self.ask(question, name)) }
      }
      var answers = FamilyAnswers()
      while let event = await group.next() {
        let step =
          switch event {
          case .answered(let family, let outcome): answers.recordOutcome(outcome, of: family)
          case .lateIsOver: answers.stopWaiting()
          }
        switch step {
        case .wait: break
        case .waitBriefly:
          group.addTask { [time] in
            try? await time.limit(Self.patience)
            return .lateIsOver
          }
        case .answer(let answer):
          group.cancelAll()
          return answer
        }
      }
      return .failure(.cancelled())
    }
  }

  private func ask(_ question: DNSQuestion, _ name: HostName) async -> FamilyAnswers.Outcome {
    let (servers, stack) = (servers, stack)
    return await ServerRace(count: servers.count, time: time).run { number in
      await Result { () async throws(TransportError) in try await servers[number].ask(question, name, over: stack) }
    }
  }
}
