// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Finds the addresses of names, for example in a service registry, by DNS over a private channel, or in a table.
///
/// The engine calls the resolver before each connection to a host that is a name, within the connect timeout, and dials
/// the addresses one after another: see `ConnectionOptions.resolver`. It may be called on any thread, many times at
/// once.
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
  /// The task is cancelled when no connection needs the answer any more. If the method does not return then, it does
  /// not delay any request.
  ///
  /// - Parameters:
  ///   - name: the name to look up: never an address, nor `localhost`, `invalid`, `onion` or a name below these.
  ///   - port: the port to connect to.
  /// - Throws: `TransportError`, with which the request fails: stage `resolve` for a failed look-up.
  func resolve(_ name: HostName, port: Int) async throws(TransportError) -> ResolvedName

  /// Called when none of a name's addresses could be connected to, so that a cached answer can be dropped.
  func connectionFailed(to name: HostName, port: Int)
}

extension NameResolver {
  /// Does nothing.
  public func connectionFailed(to name: HostName, port: Int) {}
}
