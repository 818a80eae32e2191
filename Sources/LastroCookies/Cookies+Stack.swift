// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension StackConfiguration {
  /// The jar that requests get their cookies from, and answers put theirs into. Default `nil`: no cookie is kept.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.cookies = CookieJar()
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Each redirect and each attempt gets the cookies that it is for, and gives those that it sets, whatever its status.
  /// It is for fetches and streams; WebSocket, Gemini and other dials of the same engine go past it.
  public var cookies: CookieJar? {
    get { (layers[.cookieSending] as? CookieSending)?.jar }
    set {
      layers[.cookieSending] = newValue.map(CookieSending.init)
      layers[.cookieReceipt] = newValue.map(CookieReceipt.init)
    }
  }
}

/// The jar that a request uses.
public enum CookieUse: Sendable {
  /// The stack's jar.
  case stack
  /// No jar: no cookie is sent but the request's own, and none is kept.
  case none
  /// This jar in place of the stack's, for a call in another session. It is used in a stack without a jar too.
  case jar(CookieJar)
}

extension CookieUse: TransportLayerUse {
  package func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .jar(let jar) = self, layers[.cookieSending] == nil else { return false }
    layers[.cookieSending] = CookieSending(jar)
    layers[.cookieReceipt] = CookieReceipt(jar)
    return true
  }
}

extension RequestOptions {
  /// The jar that the request's cookies come from, and that the response's cookies are put into. Default
  /// ``CookieUse/stack``.
  ///
  /// A jar given by ``CookieUse/jar(_:)`` is used in every stack, whether or not it has a jar of its own. A request
  /// with a `Cookie` field is sent unchanged; cookies that its response sets are kept.
  public var cookies: CookieUse {
    get { layerUses[.cookieSending] as? CookieUse ?? .stack }
    set { layerUses[.cookieSending] = newValue }
  }
}

extension CookieJar {
  /// The jar for a request in a stack that has this one.
  func used(by request: TransferRequest) -> CookieJar? {
    switch request.layerUses[.cookieSending] as? CookieUse ?? .stack {
    case .stack: self
    case .none: nil
    case .jar(let other): other
    }
  }
}
