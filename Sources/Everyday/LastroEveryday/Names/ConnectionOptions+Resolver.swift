// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension ConnectionOptions {
  /// The resolver for the addresses of hosts. Default: the engine's resolver for options of a single request or
  /// connection; otherwise `nil`: libcurl asks the system, and caches answers for 60 s.
  ///
  /// The engine calls the resolver before it connects, within the connect timeout, and caches nothing itself: wrap a
  /// slow resolver in a ``CachingResolver``. The engine dials the addresses by Happy Eyeballs (RFC 8305): it alternates
  /// the families, and tries the next address 250 ms after the previous one, or immediately when one fails. The first
  /// connection established, including TLS, is used, and the others are closed. Each address is checked separately
  /// against the egress policy and the trust rules; a refusal by the trust rules ends the whole attempt. An address
  /// that failed is tried last for 10 minutes. The TLS name, `Host`, pins and cookies remain those of the name.
  ///
  /// The resolver is not called for addresses; for names with fixed addresses; for `localhost`, which is this machine,
  /// and for `invalid` and `onion`, which have no address; through proxies, which resolve names themselves; or with a
  /// Unix socket. Datagrams are sent to the first address that has a route.
  ///
  /// Requests share connections if their options have the same resolver: the same object, or a copy of the same
  /// options.
  ///
  /// ```swift
  /// var configuration = CurlConfiguration()
  /// configuration.connection.resolver = CachingResolver(over: Registry())
  /// ```
  public var resolver: (any NameResolver)? {
    get { reach.names?.resolver as? any NameResolver }
    set { reach.names = newValue.map(NameSource.init(asking:)) }
  }
}

/// A resolver that returns the same answers as any other with its name, even in other processes.
package protocol RepeatableResolver: NameResolver {
  /// The name of the resolver, which is part of the keys of caches.
  var repeatableName: String { get }
}

extension NameSource {
  convenience init(asking resolver: any NameResolver) {
    // A struct has no identity: only copies of the same options share its source.
    let object = type(of: resolver) is AnyObject.Type ? resolver as AnyObject : nil
    let name = (resolver as? any RepeatableResolver)?.repeatableName
    self.init(resolver, identity: object.map { ObjectIdentifier($0) }, name: name) { name, port, answer in
      let task = Task {
        do throws(TransportError) {
          answer(.success(try await resolver.resolve(try HostName.known(name), port: port).addresses))
        } catch {
          answer(.failure(error))
        }
      }
      return { task.cancel() }
    } connectionFailed: { name, port in
      // Called in a task, because the resolver's code must not block the engine's thread.
      Task { if let name = try? HostName(name) { resolver.connectionFailed(to: name, port: port) } }
    }
  }
}

extension HostName {
  /// Returns the host name of a text that was valid before.
  fileprivate static func known(_ text: String) throws(TransportError) -> HostName {
    do { return try HostName(text) } catch { throw .refused(.invalidOption, error.message, hint: error.hint) }
  }
}
