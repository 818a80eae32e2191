// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
import LastroHAR
import LastroSupport
import LastroTesting

/// Forwards requests to an API, and records, delays or cuts the responses.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Forwards requests from this machine to an API, records them, and causes faults.",
    discussion: """
      URL is the base of the API. A program that uses the printed address instead of URL reaches the API through this \
      proxy. It listens on a port of 127.0.0.1 only, follows no redirect, and waits for a response as long as the client \
      does. An idempotent request whose connection is lost may be sent again. Fields of the connection are not forwarded; \
      compressed responses arrive decompressed. Requests of browsers for pages of other hosts get 403.

      --har records complete exchanges in a file that only you can read, with secrets masked as in logs. The file is for \
      'lastro mock', for cassettes of tests and for browsers. It keeps the latest 12 MiB, and at most 1 MiB of each body.

      EXIT STATUS: 0 when a signal ended it; 1 when it cannot listen or write; 64 for a command line that is not \
      understood.

      EXAMPLES:
        lastro proxy https://api.example.org --port 8080 --har session.har
        lastro proxy https://api.example.org --delay 200ms --fail 5% --seed 7
        lastro proxy https://api.example.org --cut-after 10KiB
        lastro proxy https://api.example.org --fault 'POST /orders: reset first 1'
      """)

  @Argument(help: "Base URL of the API.")
  var url: String
  @Option(name: .shortAndLong, help: "Port. Default: a free one.")
  var port: UInt16 = 0
  @Option(help: "File for the HTTP archive of the exchanges. It is replaced.")
  var har: String?
  @Option(help: "Delay of every response, such as 200ms or 1.5s.")
  var delay: String?
  @Option(help: "Number of bytes of each body after which the connection is closed, such as 500 or 10KiB.")
  var cutAfter: String?
  @Option(help: "Share of the requests that get 503, such as 5%.")
  var fail: String?
  @OptionGroup var faults: ServerFaultFlags
  @Option(help: "PEM file of trusted roots, instead of the system's.")
  var cacert: String?

  func validate() throws { _ = try allFaults() }

  private func allFaults() throws -> [ServerFault] {
    func parsed<Value>(_ name: String, _ text: String, _ form: String, _ value: Value?) throws -> Value {
      guard let value else { throw ValidationError("\(name) \(text.onOneLine) cannot be parsed; write \(form).") }
      return value
    }
    var all = try faults.parsed()
    if let delay {
      all.append(
        ServerFault(
          effect: .delay(try parsed("--delay", delay, "a duration such as 200ms", ReplayCommand.duration(delay)))))
    }
    if let fail {
      let share = try parsed("--fail", fail, "a percentage such as 5%", ServerFault.share(fail))
      all.append(ServerFault(effect: .status(503), frequency: .share(share)))
    }
    if let cutAfter {
      let count = try parsed("--cut-after", cutAfter, "a number of bytes such as 10KiB", ServerFault.bytes(cutAfter))
      all.append(ServerFault(effect: .cut(count)))
    }
    return all
  }

  func run() async throws {
    let base = try Console.checked { try ResourceRequest(url: url.contains("://") ? url : "https://" + url) }.url
    guard !base.contains("?") else { throw ValidationError("\(base) has a query; write the base of the API.") }
    let engine = try Console.checked { try CurlNetworkStack(engineConfiguration()) }
    let archive = har.map { ProxyArchive($0) }
    var configuration = StackConfiguration()
    configuration.redirects = .none
    (configuration.timeouts.total, configuration.timeouts.idle) = (nil, nil)
    var transport = engine.engine
    if let archive {
      transport = RecordingTransport(
        over: transport, redaction: .standard, maximumBodyBytes: 1 << 20, maximumBytes: ProxyArchive.maximumBytes,
        time: .continuous
      ) { (har) throws(TransportError) in archive.receive(har) }
    }
    let forwarder = APIForwarder(
      base: base, stack: TransportNetworkStack(transport: transport, configuration: configuration),
      faults: ServerFaults(try allFaults(), seed: faults.seed))
    let end = OneAnswer<Void>()
    let signals = Signals { end.give(()) }
    defer { signals.restore() }
    let server = try LocalServer.start(port: port) { try forwarder.serve($0) }
    // Not before the server has started, because this replaces an earlier recording.
    try archive?.check()
    try Console.out(server.baseURL)
    Console.error("lastro: forwards to \(base.onOneLine) until you press Ctrl-C")
    await end.value()
    // First the transfers, because the threads of the server wait for them.
    await engine.shutDown(cancelling: true)
    server.stop()
    try archive?.finish()
  }

  private func engineConfiguration() -> CurlConfiguration {
    var configuration = CurlConfiguration()
    if let cacert { configuration.connection.tls.roots = .file(cacert) }
    return configuration
  }
}
