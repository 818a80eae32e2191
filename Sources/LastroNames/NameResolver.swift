// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Finds the addresses of names: a registry of services, DNS over a way of one's own, a table.
///
/// The engine asks it before each connection to a host that is a name, within the connect timeout, and dials the
/// addresses one after the other: see `ConnectionOptions.resolver`. Any thread may call it, many at once.
///
/// ```swift
/// struct Registry: NameResolver {
///   func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName {
///     try ResolvedName(addresses: ["10.0.0.7", "10.0.0.8"], timeToLive: .seconds(10))
///   }
/// }
/// ```
public protocol NameResolver: Sendable {
  /// Finds the addresses of a name.
  ///
  /// The task is cancelled when no connection needs the answer any more. One that goes on nevertheless holds up no
  /// request.
  ///
  /// - Parameters:
  ///   - name: never an address, nor `localhost`, `invalid`, `onion` or what is below these.
  ///   - port: the one to be connected to.
  /// - Throws: `TransportError`, which the request then fails with: stage `resolve` where a look-up failed.
  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName

  /// Hears that no address of a name could be connected to, so that what is kept of it may be dropped.
  func noteUnreachable(_ name: HostName, port: Int)
}

extension NameResolver {
  /// The default: nothing.
  public func noteUnreachable(_ name: HostName, port: Int) {}
}
