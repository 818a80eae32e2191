// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The jar that a request uses, as a setting for the layers of cookies.
struct CookieUse: TransportLayerUse {
  let use: StackPartUse<CookieJar>

  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    guard case .with(let jar) = use, layers[.cookieSending] == nil else { return false }
    layers[.cookieSending] = CookieSending(jar: jar)
    layers[.cookieReceipt] = CookieReceipt(jar: jar)
    return true
  }
}
