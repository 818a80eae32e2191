// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroCurl
import LastroHTTP
internal import LastroTransports
internal import LastroTunnels

/// A command that makes a request from its flags.
///
/// Option groups are not nested: in a debug build, ArgumentParser validates a group again for each level of nesting,
/// which would double the time to start.
protocol FetchingCommand: AsyncParsableCommand {
  var request: RequestFlags { get }
  var body: BodyFlags { get }
  var connection: ConnectionFlags { get }
  var identity: IdentityFlags { get }
  var pins: PinFlags { get }
  var way: ViaFlags { get }
  var accepted: AcceptedFlags { get }
}

extension FetchingCommand {
  /// Whether certificates of near hosts are not checked (`-k`).
  private var isInsecure: Bool { accepted.insecure }

  /// Refuses flags of different groups that exclude each other.
  func validateFlags() throws {
    try way.validate(with: connection)
    if isInsecure, !way.isEmpty {
      throw ValidationError("-k and --via exclude each other: a chain leads to other networks; write --cacert FILE.")
    }
    if isInsecure, pins.judges {
      throw ValidationError(
        "-k and pins exclude each other: a pinned key needs its verified chain; write --cacert FILE.")
    }
    guard !request.connectTo.isEmpty else { return }
    if !way.isEmpty { throw ValidationError("--connect-to and --via exclude each other.") }
    if connection.unixSocket != nil {
      throw ValidationError("--connect-to and --unix-socket exclude each other.")
    }
  }

  /// - Parameter isSilent: whether to write nothing to standard error.
  func specification(url: String, isSilent: Bool = false) throws -> RequestSpecification {
    var result = RequestSpecification(url: url)
    if let whole = SchemelessURL.completed(url) {
      result.url = whole
      let shown = Runner.withoutUserInformation(result.url)
      if !isSilent { Console.error("lastro: the URL has no scheme; fetching \(shown.onOneLine)") }
    }
    try request.apply(to: &result)
    try body.apply(to: &result, inQuery: request.get)
    if request.head, !request.get, result.body != nil { throw ValidationError("-I and a body exclude each other.") }
    connection.apply(to: &result)
    identity.apply(to: &result)
    try checkInsecurity(of: result)
    return result
  }

  /// Limits `-k` to localhost and private IPs. With `--connect-to` or `--resolve` the dialer decides.
  private func checkInsecurity(of specification: RequestSpecification) throws {
    guard isInsecure, request.connectTo.isEmpty, connection.resolve.isEmpty,
      specification.url.lowercased().hasPrefix("https://")
    else { return }
    let host = NearHost.host(of: specification.url)
    guard NearHost.contains(host) else {
      throw ValidationError(
        "-k works for localhost and for private addresses alone, and not for \(host.onOneLine); write --cacert FILE "
          + "with the root of its certificate, or with its own certificate.")
    }
  }

  /// The hosts that `--resolve` maps to near addresses alone.
  private var nearHosts: Set<String> {
    var hosts: [String: Bool] = [:]
    for resolution in connection.resolve.compactMap({ try? RequestSpecification.resolution($0) }) {
      let host = resolution.host.lowercased()
      hosts[host] = resolution.addresses.allSatisfy(NearHost.contains) && hosts[host] ?? true
    }
    return Set(hosts.filter(\.value).keys)
  }

  /// Returns the engine's options for a request.
  func engine(_ judge: PinJudge?, for specification: RequestSpecification) -> CurlConfiguration {
    var engine = pins.engine(judge)
    if specification.removedHeaders.contains("user-agent") { engine.userAgent = nil }
    if specification.removedHeaders.contains("accept") { engine.sendsAccept = false }
    if specification.removedHeaders.contains("accept-encoding") { engine.decompresses = false }
    return engine
  }

  /// Returns the flags and environment variables for trust and route, apart from the request's connection options, as a
  /// text for the keys of a cache.
  func wayOfTransport(for specification: RequestSpecification) -> String {
    var parts = pins.rules()
    parts += way.via.map { "via \($0)" } + request.connectTo.map { "to \($0)" } + (isInsecure ? ["unchecked"] : [])
    // A proxy for plain http can read and change the traffic; proxies for https only tunnel it.
    if specification.proxy == nil, specification.url.lowercased().hasPrefix("http://") {
      for name in ["http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"] {
        if let value = ProcessInfo.processInfo.environment[name], !value.isEmpty { parts.append("\(name) \(value)") }
      }
    }
    return parts.map { $0 + "\n" }.joined()
  }

  /// Returns the stack: over the engine, or over HTTP through the transports of --via, --connect-to or -k.
  func stack(
    on engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    guard !request.connectTo.isEmpty || isInsecure else {
      guard !way.isEmpty else { return TransportNetworkStack(transport: engine, configuration: configuration) }
      return try way.chain().stack(on: engine, configuration: configuration)
    }
    var rules: [ConnectTo] = []
    for text in request.connectTo { rules.append(try ConnectTo(text)) }
    var base: any Dialer = engine
    if isInsecure { base = UncheckedDialer(base: base, mapped: nearHosts) }
    let dialer = ElsewhereDialer(base: base, rules: rules)
    return TransportNetworkStack(
      transport: try DialerTransport(over: dialer, configuration: engine.exchange), configuration: configuration)
  }
}
