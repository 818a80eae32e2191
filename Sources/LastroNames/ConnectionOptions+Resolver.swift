// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension ConnectionOptions {
  /// Who is asked for the addresses of hosts. Default: the engine's for options that a request or a dial brings, else
  /// `nil`: libcurl asks the system, and keeps answers for 60 s.
  ///
  /// The engine asks before it connects, within the connect timeout, and keeps nothing itself: put a
  /// ``CachingResolver`` around what takes long. It dials the addresses as Happy Eyeballs does (RFC 8305): the
  /// families in turn, the next one 250 ms after the one before, or at once when one fails. The first that stands, TLS
  /// included, is used, and the others are closed. Each address is judged by itself: by the egress policy, and by
  /// trust, where a refusal ends all. An address that failed is tried last for 10 minutes. TLS name, `Host`, pins and
  /// cookies stay the name's.
  ///
  /// Not asked: for addresses; for names that `resolutions` has; for `localhost`, which is this machine, and `invalid`
  /// and `onion`, which have no address; through proxies, which resolve names themselves; with a Unix socket. Datagrams
  /// go to the first address that has a route.
  ///
  /// Connections are shared by requests whose options have the same resolver: the same object, or a copy of the same
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

/// A resolver that gives the same answers as any other of its name, in other processes too.
package protocol RepeatableResolver: NameResolver {
  /// The name, which is part of the keys of caches.
  var repeatableName: String { get }
}

extension NameSource {
  convenience init(asking resolver: any NameResolver) {
    // A structure has no identity: its source is the one that copies of the options share.
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
    } noteUnreachable: { name, port in
      // Not on the engine's thread: what the resolver does then is not ours.
      Task { if let name = try? HostName(name) { resolver.noteUnreachable(name, port: port) } }
    }
  }
}

extension HostName {
  /// A name that was one before.
  fileprivate static func known(_ text: String) throws(TransportError) -> HostName {
    do { return try HostName(text) } catch { throw .refused(.invalidOption, error.message, hint: error.hint) }
  }
}
