// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl

struct PinsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pins",
    abstract: "Prints the pins of a server's verified chain or of PEM files, or checks a file of pinning policies.",
    usage: """
      lastro pins HOST[:PORT]
      lastro pins --cert FILE [--cert FILE …]
      lastro pins --check POLICY.json [HOST[:PORT] …]
      """,
    discussion: """
      EXIT STATUS: as of fetch; 60 when --check finds an error, which would make a host unreachable (with warnings and notes \
      alone it is 0), 3 for a file that cannot be used.
      """)

  @Argument(help: "HOST or HOST:PORT, default port 443. The program connects to it, and sends no request.")
  var hosts: [String] = []
  @Option(help: "PEM file of certificates, requests or public keys, or a certificate in DER. Repeatable.")
  var cert: [String] = []
  @Option(help: "JSON file of pinning policies to check against the chains of the given hosts.")
  var check: String?
  @Flag(help: "Print one JSON object instead of text.")
  var json = false
  @Option(name: .customLong("client-cert"), help: "PEM file of the client certificate (chain, leaf first).")
  var clientCert: String?
  @Option(name: .customLong("client-key"), help: "PEM file of its key. Default: in the certificate's file.")
  var clientKey: String?
  @OptionGroup var connection: ConnectionFlags

  func validate() throws {
    guard cert.isEmpty || hosts.isEmpty && check == nil else {
      throw ValidationError("--cert FILE stands alone: repeat it for each file, without a host or --check.")
    }
    guard !cert.isEmpty || !hosts.isEmpty || check != nil else {
      throw ValidationError("give HOST[:PORT], --cert FILE, or --check POLICY.json.")
    }
    guard hosts.count < 2 || check != nil else {
      throw ValidationError("give one host; several only with --check.")
    }
    if clientKey != nil, clientCert == nil { throw ValidationError("--client-key needs --client-cert.") }
    var seen: Set<HostName> = []
    for server in try hosts.map(ServerAddress.init) where !seen.insert(server.host).inserted {
      throw ValidationError("\(server.host) is given with several ports; --check takes a host once.")
    }
  }

  func run() async throws {
    let servers = try hosts.map(ServerAddress.init)
    if let check { return try await lint(check, servers) }
    var report = PinsReport(server: servers.first)
    do {
      for path in cert { report.keys += try KeyFile.keys(path) }
      for server in servers { report.keys = PinnableKey.keys(of: try await inspect(server)) }
      report.proposal = try PinProposal(report.keys, host: report.server?.host)
    } catch {
      let failure = try Self.failure(error)
      report.error = failure
      try fail(report, failure)
    }
    try print(report, report.text)
  }

  private func lint(_ path: String, _ servers: [ServerAddress]) async throws {
    var report = PinCheckReport(file: path, servers: servers.map(\.description))
    do {
      let configuration = try ServerTrustEvaluator.Configuration(contentsOfFile: path)
      report.policies = configuration.pinningPolicies.count
      var served: [HostName: [PeerCertificate]] = [:]
      for server in servers { served[server.host] = try await inspect(server).chain }
      report.findings = configuration.lint(served: served)
    } catch {
      let failure = try Self.failure(error)
      report.error = failure
      try fail(report, failure)
    }
    try print(report, report.text)
    if report.isBad { throw ExitStatus.of(.trust) }
  }

  private func inspect(_ server: ServerAddress) async throws -> ServerTrust {
    var specification = RequestSpecification(url: server.url)
    connection.apply(to: &specification)
    (specification.cert, specification.key) = (clientCert, clientKey)
    let timeout = try specification.timeouts().connect ?? .seconds(10)
    let stack = try CurlNetworkStack()
    return try await stack.inspect(server.url, connection: specification.connection(), timeout: timeout)
  }
}

extension PinsCommand {
  /// Converts an error of a server or of a file to a failure; rethrows any other error.
  private static func failure(_ error: any Error) throws -> Report.Failure {
    guard error is TransportError || error is ConfigurationError else { throw error }
    return Report.Failure(error)
  }

  private func fail(_ report: some Encodable, _ failure: Report.Failure) throws -> Never {
    if json { try print(report, "") } else { Console.tell(failure) }
    throw ExitStatus.of(failure.stage)
  }

  private func print(_ report: some Encodable, _ text: String) throws {
    try Console.out(json ? report.jsonLine : text)
  }
}
