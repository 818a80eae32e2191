// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
internal import LastroCurlTransports
import LastroTunnels

/// What to go through on the way to the server.
struct ViaFlags: ParsableArguments {
  @Option(
    help: """
      Transport to go through: socks5://…, http://…, https://…, meek:…, obfs4:HOST:PORT?cert=… (or a bridge line in \
      quotes) or ss://…. Repeatable; the first is the nearest. --proxy is asked on the way to the first one.
      """)
  var via: [String] = []

  var isEmpty: Bool { via.isEmpty }

  /// The chain, read.
  func chain() throws(ConfigurationError) -> ViaChain {
    do {
      return try ViaChain(via)
    } catch {
      throw ConfigurationError("--via: \(error.message)", hint: error.hint)
    }
  }

  /// What fetches: the engine, or HTTP over what --via puts over it.
  func stack(
    on engine: CurlTransport, _ configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    isEmpty
      ? TransportNetworkStack(transport: engine, configuration: configuration)
      : try chain().stack(on: engine, configuration: configuration)
  }

  /// Refuses flags that have no effect on a fetch behind the first hop.
  func validate(with connection: ConnectionFlags) throws {
    guard !isEmpty else { return }
    if let resolution = connection.resolve.first {
      throw ValidationError(
        "--resolve \(resolution.onOneLine) and --via exclude each other: names go down the chain unresolved; write the "
          + "address in the URL, or in --via.")
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
