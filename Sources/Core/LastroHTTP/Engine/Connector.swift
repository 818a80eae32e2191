// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The part of an ``HTTPEngine`` that decides where its requests go, and opens links.
///
/// Owner: the engine, which cancels its dials before it releases the connector. Thread: the loop's. No function blocks.
package protocol Connector: AnyObject {
  /// Returns the route of requests for a host. It is called once for each host, and the engine keeps the route.
  ///
  /// - Throws: the reason why there is no route.
  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route

  /// Opens a link, and reports the outcome to the owner, possibly before this function returns.
  ///
  /// - Throws: the reason why the route must not be used for the dial's target. Nothing was dialed, and other requests
  ///   on the same route are not affected.
  func dial(_ dial: LinkDial, for owner: HostPool) throws(TransportError)

  /// Cancels a dial whose outcome was not reported yet. Its owner is not notified afterwards.
  func cancelDial(_ id: UInt64)
}

/// The state that a ``Connector`` keeps for a ``Route``, if links over it may become outdated without notice.
///
/// Thread: the loop's.
package protocol RouteState: AnyObject {
  /// Returns whether a request must wait for ``check(until:_:)`` before it uses a link.
  func mustCheck(now: Int64) -> Bool

  /// Checks whether links are still current.
  ///
  /// - Parameters:
  ///   - until: the time at which requests stop waiting.
  ///   - proceed: called once, on the loop's thread.
  func check(until: Int64, _ proceed: @escaping () -> Void)
}

/// The route of requests for one host.
///
/// It is a class, because every request carries its route, and a reference is cheap to copy.
package final class Route {
  /// The key by which connections are shared: requests for other hosts that take the same route use them too.
  package let key: String
  /// The scheme, host and port that connections are made to, as reported to observers.
  package let origin: Origin?
  /// The proxy that requests are sent to with their whole URLs, because it serves many hosts (RFC 9112 §3.2.2); `nil`
  /// if there is none.
  package let proxy: ForwardingProxy?
  /// The state that the connector keeps for the route; `nil` if links need no check before they are used.
  package let state: (any RouteState)?

  package init(
    key: String, origin: Origin?, proxy: ForwardingProxy? = nil, state: (any RouteState)? = nil
  ) {
    self.key = key
    self.origin = origin
    self.proxy = proxy
    self.state = state
  }
}

/// A proxy that receives requests with their whole URLs.
package struct ForwardingProxy {
  /// The value of `Proxy-Authorization`; `nil` if none is sent.
  package var authorization: String?

  package init(authorization: String?) { self.authorization = authorization }
}

/// The parameters of a dial that opens a link.
package struct LinkDial {
  package let id: UInt64
  package let request: DialRequest
  package let target: TrustTarget
  package let options: SharedOptions
  package let route: Route
  /// The server to connect to, of several that share the target's name; `nil` for any.
  package let member: MemberAddress?
  /// The time limit of the request that the dial is begun for.
  package let deadline: Duration?
}
