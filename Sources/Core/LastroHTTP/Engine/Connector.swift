// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Decides where the requests of an ``HTTPEngine`` go, and opens links.
///
/// Owner: the engine, which cancels its dials before it releases the connector. Thread: the loop's. No function blocks.
package protocol Connector: AnyObject {
  /// The settings that decide the explanation of a request.
  associatedtype Settings: Sendable

  /// Returns the route of requests for a host. It is called once for each host, and the engine keeps the route.
  ///
  /// - Throws: the reason why there is none.
  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route

  /// Opens a link, and reports the outcome to the owner, possibly before this function returns.
  ///
  /// - Throws: the reason why the route must not be used for the dial's target. Nothing was dialed, and other requests
  ///   on the same route are not affected.
  func dial(_ dial: LinkDial, for owner: any DialOwner) throws(TransportError)

  /// Cancels a dial whose outcome was not reported. Nothing more is reported to its owner.
  func cancelDial(_ id: UInt64)

  /// Returns the facts that `explain` shows about the route of a request. The first names what opens connections.
  ///
  /// Static, because any thread may ask, before there is an engine.
  static func explain(
    _ request: TransferRequest, with options: ConnectionOptions, _ settings: Settings
  ) -> [FetchExplanation.Fact]
}

/// The owner of dials. The connector calls it in the midst of its own work, so it records the outcome and acts later,
/// in the engine's turn.
package protocol DialOwner: AnyObject {
  /// Takes the link of a dial that succeeded.
  func linkOpened(_ id: UInt64, _ link: any Link)

  func dialFailed(_ id: UInt64, _ error: TransportError)
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
  ///   - until: the time at which requests wait no longer.
  ///   - proceed: called once, on the loop's thread.
  func check(until: Int64, _ proceed: @escaping () -> Void)
}

/// The route of requests for one host.
///
/// A class, because each request hands it on.
package final class Route {
  /// The name of what its connections are shared by: requests of other hosts on the same way use them too.
  package let key: String
  /// The scheme, host and port that connections are to, as observers see them.
  package let origin: Origin?
  /// The value of `Proxy-Authorization`, where there is one; requests go out with their whole URLs, to a proxy that
  /// serves many hosts (RFC 9112 §3.2.2).
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

/// A proxy that requests are given to with their whole URLs.
package struct ForwardingProxy {
  /// The value of `Proxy-Authorization`, where the proxy wants one.
  package var authorization: String?

  package init(authorization: String?) { self.authorization = authorization }
}

/// A link that is wanted.
package struct LinkDial {
  package let id: UInt64
  package let request: DialRequest
  package let target: TrustTarget
  /// The protocols to offer, in the wire form of RFC 7301 §3.1.
  package let protocols: [UInt8]
  package let options: SharedOptions
  package let route: Route
  /// The limit of the request that it is begun for.
  package let deadline: Duration?
}
