// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension StackConfiguration {
  /// The jar that supplies the cookies of requests, and stores those of responses. Default `nil`: no cookies are
  /// stored.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.cookies = CookieJar()
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Each redirect and each attempt sends the cookies that match it, and stores the cookies of its response, whatever
  /// the status. The jar applies to fetches and streams; WebSocket, Gemini and other connections of the same engine do
  /// not use it.
  public var cookies: CookieJar? {
    get { (layers[.cookieSending] as? CookieSending)?.jar }
    set {
      layers[.cookieSending] = newValue.map(CookieSending.init)
      layers[.cookieReceipt] = newValue.map(CookieReceipt.init)
    }
  }
}

extension RequestOptions {
  /// The jar that supplies the request's cookies, and stores the response's cookies. Default `.stack`.
  ///
  /// With `.none`, only the request's own cookies are sent, and none are stored. A jar given by `.with(_:)`, for a call
  /// in another session, is used in every stack, whether or not the stack has a jar of its own. A request with a
  /// `Cookie` field is sent unchanged; cookies that its response sets are stored.
  public var cookies: StackPartUse<CookieJar> {
    get { (layerUses[.cookieSending] as? CookieUse)?.use ?? .stack }
    set { layerUses[.cookieSending] = CookieUse(use: newValue) }
  }
}

extension CookieJar {
  /// Returns the jar that a request uses in a stack with this jar.
  func used(by request: TransferRequest) -> CookieJar? {
    switch (request.layerUses[.cookieSending] as? CookieUse)?.use ?? .stack {
    case .stack: self
    case .none: nil
    case .with(let other): other
    }
  }
}
