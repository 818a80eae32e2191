// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Decides where the requests of an ``HTTPEngine`` go, and opens links.
///
/// Owner: the engine. Thread: the loop's. No function blocks, and none calls the ``DialOwner`` before it returns.
package protocol Connector: AnyObject {
  /// Returns the way of requests for a host.
  ///
  /// - Throws: the reason why there is none.
  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route

  /// Returns the reason why a host must not be asked over a route; `nil` where the dial itself would find out.
  func refusal(of target: TrustTarget, over route: Route, with options: SharedOptions) -> TransportError?

  /// Returns whether it must be checked if links of a route are still current, before a request uses one.
  func mustCheck(_ route: Route, now: Int64) -> Bool

  /// Checks whether links of a route are still current.
  ///
  /// - Parameters:
  ///   - until: the time at which requests wait no longer.
  ///   - proceed: called once, on the loop's thread.
  func check(_ route: Route, until: Int64, _ proceed: @escaping () -> Void)

  /// Opens a link, and reports the outcome to the owner.
  func dial(_ dial: LinkDial, for owner: any DialOwner)

  /// Returns the link of a dial that was reported as open.
  func takeLink(of dial: UInt64) -> (any Link)?

  /// Gives a dial up. Nothing more is reported to its owner, and a link that is open is closed.
  func cancelDial(_ id: UInt64)

  func tearDown()
}

/// The owner of dials.
package protocol DialOwner: AnyObject {
  /// Reports a link that is open; it is to be taken from the ``Connector``, or given up.
  func dialStands(_ id: UInt64)
  func dialFailed(_ id: UInt64, _ error: TransportError)
}

/// The way of requests for one host.
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
  /// The state that the connector keeps for the route.
  package let memory: AnyObject?

  package init(
    key: String, origin: Origin?, proxy: ForwardingProxy? = nil, memory: AnyObject? = nil
  ) {
    self.key = key
    self.origin = origin
    self.proxy = proxy
    self.memory = memory
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
