// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroTunnels

/// The flags for transports on the way to the server.
struct ViaFlags: ParsableArguments {
  @Option(
    help: """
      Transport to go through: socks5://…, http://…, https://…, meek:…, obfs4:HOST:PORT?cert=… (or a bridge line in \
      quotes) or ss://…. Repeatable; the first is the nearest. The connection to the first goes through --proxy.
      """)
  var via: [String] = []

  var isEmpty: Bool { via.isEmpty }

  /// Returns the parsed chain.
  func chain() throws(ConfigurationError) -> ViaChain {
    do {
      return try ViaChain(via)
    } catch {
      throw ConfigurationError("--via: \(error.message)", hint: error.hint)
    }
  }

  /// Returns the hint for a failure, with the hop that may have caused a timeout: a Shadowsocks server does not respond
  /// to a wrong password.
  func hint(of failure: Report.Failure) -> String? {
    guard failure.stage == .timeout, let hops = try? chain().hops else { return failure.hint }
    for case .shadowsocks(let server) in hops {
      let words =
        "check method and password of the Shadowsocks server \(server.host.bracketedHost):\(server.port), "
        + "which says nothing where they are wrong"
      return failure.hint.map { "\(words); else \($0)" } ?? words
    }
    return failure.hint
  }

  /// Refuses flags that have no effect on a fetch through a chain.
  func validate(with connection: ConnectionFlags) throws {
    guard !isEmpty else { return }
    if let resolution = connection.resolve.first {
      throw ValidationError(
        "--resolve \(resolution.onOneLine) and --via exclude each other: names are passed down the chain unresolved; "
          + "write the address in the URL, or in --via.")
    }
    if connection.unixSocket != nil {
      throw ValidationError(
        "--unix-socket and --via exclude each other: a chain leads to hosts; fetch from the socket without --via.")
    }
    if connection.certStatus {
      throw ValidationError(
        "--cert-status and --via exclude each other: stapled OCSP responses are not checked behind a chain; "
          + "pin the host's key with --pin HOST=sha256/… instead.")
    }
  }
}
