// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

/// Asks servers for the addresses of names by DNS over HTTPS (RFC 8484).
///
/// Both families are asked for at once, by POST, padded to 128 bytes (RFC 8467). Where IPv4 is known first, IPv6 is
/// waited for 50 ms longer (RFC 8305 §3). Of several servers the next is asked 500 ms after the one before, or at once
/// when one fails, and the first that answers counts.
///
/// It keeps nothing: put a ``CachingResolver`` around it. An answer's time to live is the least of its records', less
/// the time that caches have had it (`Age`). What is believed is what answers the question, byte by byte, and belongs
/// to the name, or to one that it is an alias of, 8 times at most. DNSSEC is the server's to check.
///
/// Requests go through the whole stack that is given, with its interceptors, judges and pins: give it one of its own.
/// That stack cannot have the address of the server from this resolver; see <doc:ResolvingNames>. Any thread may call
/// it, 4,096 tasks at once.
///
/// ```swift
/// var direct = CurlConfiguration()
/// direct.connection.resolutions = [.init(host: "dns.example", port: 443, addresses: ["192.0.2.53"])]
/// let names = try DoHResolver(["https://dns.example/dns-query"], over: CurlNetworkStack(direct))
/// configuration.connection.resolver = CachingResolver(over: names)
/// ```
public final class DoHResolver: NameResolver {
  private enum Event: Sendable {
    case answered(FamilyAnswers.Family, FamilyAnswers.Outcome)
    case lateIsOver
  }

  static let mostLookUps = 4_096
  static let mostServers = 4
  /// IPv6 gets so much longer than IPv4 took (RFC 8305 §3).
  static let patience = Duration.milliseconds(50)

  private let servers: [DoHServer]
  private let stack: any HTTPNetworkStack
  private let time: TimeSource
  private let underWay = Lock(0)

  /// For tests.
  var lookUpsUnderWay: Int { underWay.withLock { $0 } }

  /// Makes one that has asked for nothing.
  ///
  /// - Parameters:
  ///   - servers: URLs of 1 to 4, the one that is asked first standing first; a `{?dns}` at the end is dropped. They
  ///     are `https`, or of this machine.
  ///   - stack: carries the questions. Its retries are within the timeout.
  ///   - timeout: how long a server gets for a question. Default 5 s.
  ///   - time: measures for how long one family or server waits for another. Default: the system's clock.
  /// - Throws: `ConfigurationError` for no server, more than 4, what is no such URL, a timeout that is not positive.
  public init(
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

  /// Asks for the addresses of a name.
  ///
  /// - Returns: a name that does not exist has no addresses, and so has one of which neither family has any.
  /// - Throws: `TransportError`: stage `resolve`, code `host_not_found`, where no server says; code `invalid_option`
  ///   for the name of one of its own servers; stage `limit`, code `queue_full`, where 4,096 are being looked up; stage
  ///   `cancelled`.
  public func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    if name.isIPAddress { return try ResolvedName(addresses: [name.text]) }
    if let special = SpecialName(name.text) { return try ResolvedName(addresses: special.addresses) }
    guard !servers.contains(where: { $0.host == name.text }) else { throw .ownServer(name) }
    // What is no name of DNS has no address.
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
          case .answered(let family, let outcome): answers.take(outcome, of: family)
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

extension Result where Success: Sendable {
  fileprivate init(catching body: () async throws(Failure) -> Success) async {
    do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
