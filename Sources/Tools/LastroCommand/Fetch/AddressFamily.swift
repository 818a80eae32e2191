// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroEveryday

/// The address family that `-4` or `-6` selects.
enum AddressFamily: Sendable {
  case ipv4
  case ipv6

  /// A resolver that asks the system, and drops addresses of the other family.
  final class Resolver: RepeatableResolver {
    private let family: AddressFamily

    init(_ family: AddressFamily) { self.family = family }

    var repeatableName: String { "system \(family)" }

    func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
      let answer = try await SystemResolver().resolve(name, port: port)
      return try ResolvedName(addresses: answer.addresses.filter { $0.contains(":") == (family == .ipv6) })
    }
  }

  var loopback: String { self == .ipv4 ? "127.0.0.1" : "::1" }
}
