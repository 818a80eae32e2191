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

/// Which jar a request has to do with.
public enum CookieUse: Sendable {
  /// The stack's.
  case stack
  /// None: no cookie is sent but the request's own, and none is kept.
  case none
  /// This one, in place of the stack's: for a call in another session.
  case jar(CookieJar)
}

extension RequestOptions {
  /// Which jar the request gets its cookies from, and its answer's are put into. Default ``CookieUse/stack``.
  ///
  /// It is for stacks that have a jar (`StackConfiguration.cookies`, which may be one that stays empty): in a stack
  /// without one it says nothing. A request with a `Cookie` field of its own is sent as it is; what its answer sets is
  /// kept.
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
