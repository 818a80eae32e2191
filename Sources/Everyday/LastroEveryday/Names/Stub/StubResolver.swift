// SPDX-License-Identifier: Apache-2.0

public import Lastro
package import LastroWire

/// Resolves names by asking the DNS servers of this machine, and reports the time to live of their answers, which
/// `getaddrinfo` does not.
///
/// Like the system, it reads `/etc/hosts` first, and then `/etc/resolv.conf`: servers, `search`, `ndots`, `timeout`,
/// `attempts` and `use-vc`. Both files are read for each look-up. It asks no other source of `nsswitch.conf`.
///
/// Queries are sent over UDP, each from a new port and with a random id, and over TCP if a response is truncated. A
/// datagram that does not repeat id and question is ignored. A server that reports a failure, or does not respond within
/// `timeout`, is passed over. DNSSEC is left to the servers (RFC 1035, RFC 5452, RFC 6891).
///
/// It caches nothing. Let a `CachingResolver` ask it for the addresses of an engine:
///
/// ```swift
/// let names = try StubResolver(dialer: stack.dialer)
/// configuration.connection.resolver = CachingResolver(over: names)
/// ```
///
/// It may be called on any thread.
public struct StubResolver: NameResolver {
  /// The files that the resolver reads.
  package struct Files: Sendable {
    package var settings = "/etc/resolv.conf"
    package var hosts = "/etc/hosts"

    package init() {}
  }

  private let sockets: StubSockets
  private let servers: [MemberAddress]
  private let files: Files
  private let random: RandomSource

  /// Creates a resolver.
  ///
  /// - Parameters:
  ///   - dialer: the dialer that opens the sockets, such as `CurlNetworkStack.dialer`. It must support datagrams. Its
  ///     proxies are not used.
  ///   - servers: the addresses of the servers, such as `192.0.2.53` or `[2001:db8::53]:5353`. Default: those in
  ///     `/etc/resolv.conf`. The default port is 53.
  /// - Throws: `ConfigurationError` for a server that is not an address.
  public init(dialer: any Dialer, servers: [String] = []) throws(ConfigurationError) {
    try self.init(dialer: dialer, servers: servers, files: Files())
  }

  package init(
    dialer: any Dialer, servers: [String], files: Files, time: TimeSource = .continuous, random: RandomSource = .system
  ) throws(ConfigurationError) {
    var addresses: [MemberAddress] = []
    for server in servers { addresses.append(try MemberAddress(server)) }
    sockets = StubSockets(dialer: dialer, time: time)
    self.servers = addresses
    self.files = files
    self.random = random
  }

  /// Looks up the addresses of a name.
  ///
  /// - Returns: the addresses, IPv6 first; none for a name that does not exist. Those in `/etc/hosts` have no time to
  ///   live.
  /// - Throws: `TransportError`: stage `resolve`, code `host_not_found`, if no server gives an answer; stage
  ///   `cancelled`.
  public func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
    if name.isIPAddress { return try ResolvedName(addresses: [name.text]) }
    if let special = SpecialName(name.text) { return try ResolvedName(addresses: special.addresses) }
    let hosts = HostsTable(ResolverFile.bytes(of: files.hosts, atMost: HostsTable.mostBytes))
    let known = (hosts.addresses(of: name.text) ?? []).filter { (try? HostName($0))?.isIPAddress == true }
    if !known.isEmpty { return try ResolvedName(addresses: known) }
    let found = try await firstFound(name.text) { candidate, settings in await addresses(of: candidate, settings) }
    if let found { return found }
    return try ResolvedName(addresses: [])
  }

  /// Looks up the servers of a service (RFC 2782).
  ///
  /// - Parameter name: the name of the service, such as `_https._tcp.example.org`.
  /// - Returns: the servers, and their time to live; `nil` if there are none.
  /// - Throws: `TransportError`, like ``resolve(_:port:)``.
  package func services(
    _ name: String
  ) async throws(TransportError) -> (services: [DNSService], timeToLive: Duration)? {
    try await firstFound(name) { candidate, settings in
      guard let question = DNSQuestion(candidate, .srv) else { return .absent(nil) }
      switch await ask(question, settings) {
      case .answered(.services(let services, let time)): return .found((services, .seconds(Int64(time))))
      case .answered: return .absent(nil)
      case .failed(let server, let reason, let responded):
        return .failed(.noAnswer(to: candidate, by: self.server(server, settings), reason), responded: responded)
      }
    }
  }

  // MARK: The search list

  private enum Finding<Found: Sendable>: Sendable {
    case found(Found)
    /// The name has no such record, or does not exist. The value is the answer that reports this.
    case absent(Found?)
    /// No server gives an answer. If a server responded at all, the next name is tried.
    case failed(TransportError, responded: Bool)
  }

  /// Looks up a name in each domain, and returns the first answer. An absence counts only if no look-up has failed.
  private func firstFound<Found: Sendable>(
    _ name: String, _ look: (String, ResolverSettings) async -> Finding<Found>
  ) async throws(TransportError) -> Found? {
    let settings = ResolverSettings(ResolverFile.bytes(of: files.settings, atMost: ResolverSettings.mostBytes))
    var failure: TransportError?
    var absence: Found?
    for candidate in settings.candidates(for: name) {
      let finding = await look(candidate, settings)
      if Task.isCancelled { throw .cancelled() }
      switch finding {
      case .found(let found): return found
      case .absent(let known): absence = known ?? absence
      case .failed(let error, let responded):
        failure = failure ?? error
        if !responded { throw failure ?? error }
      }
    }
    if let failure { throw failure }
    return absence
  }

  private func addresses(of name: String, _ settings: ResolverSettings) async -> Finding<ResolvedName> {
    guard let first = DNSQuestion(name, .a), let second = DNSQuestion(name, .aaaa) else { return .absent(nil) }
    async let other = ask(second, settings)
    let ipv4 = await ask(first, settings), ipv6 = await other
    var answers = FamilyAnswers()
    _ = answers.recordOutcome(outcome(ipv4, name, settings), of: .ipv4)
    _ = answers.recordOutcome(outcome(ipv6, name, settings), of: .ipv6)
    guard case .answer(let answer) = answers.stopWaiting() else { return .absent(nil) }
    switch answer {
    case .success(let found): return found.addresses.isEmpty ? .absent(found) : .found(found)
    case .failure(let error):
      return .failed(error, responded: ipv4.hasResponse && ipv6.hasResponse)
    }
  }

  private func outcome(
    _ outcome: DNSExchange.Outcome, _ name: String, _ settings: ResolverSettings
  ) -> FamilyAnswers.Outcome {
    switch outcome {
    case .answered(.addresses(let addresses, let time)):
      return .success(.init(addresses: addresses.map(\.text), timeToLive: .seconds(Int64(time))))
    case .answered(.none(_, let time)):
      return .success(.init(addresses: [], timeToLive: time.map { .seconds(Int64($0)) }))
    case .answered: return .success(.init(addresses: []))
    case .failed(let server, let reason, _):
      return .failure(.noAnswer(to: name, by: self.server(server, settings), reason))
    }
  }

  // MARK: A question

  private func server(_ index: Int, _ settings: ResolverSettings) -> MemberAddress {
    if !servers.isEmpty { return servers[index % servers.count] }
    return MemberAddress(host: settings.servers[index % settings.servers.count], port: nil)
  }

  private func ask(_ question: DNSQuestion, _ settings: ResolverSettings) async -> DNSExchange.Outcome {
    var exchange = DNSExchange(
      question, servers: servers.isEmpty ? settings.servers.count : servers.count, attempts: settings.attempts,
      usesStreams: settings.usesStreams)
    var socket: StubSocket?
    defer { socket?.close() }
    var step = exchange.begin(id: id())
    while true {
      do throws(TransportError) {
        switch step {
        case .end(let outcome): return outcome
        case .wait: break
        case .send(let index, let way, let message):
          socket?.close()
          socket = nil
          socket = try await sockets.send(
            message, to: server(index, settings), way, within: .seconds(Int64(settings.seconds)))
        }
        guard let open = socket else { return .failed(server: 0, reason: "it was not asked", responded: false) }
        step = exchange.received(try await open.receive(), id: id())
      } catch {
        if error.stage == .cancelled { return .failed(server: 0, reason: "the task is cancelled", responded: false) }
        step = exchange.failed("it does not respond: \(error.message)", id: id())
      }
    }
  }

  private func id() -> UInt16 { UInt16(truncatingIfNeeded: random.next() >> 32) }
}

extension DNSExchange.Outcome {
  fileprivate var hasResponse: Bool {
    if case .failed(_, _, let responded) = self { responded } else { true }
  }
}
