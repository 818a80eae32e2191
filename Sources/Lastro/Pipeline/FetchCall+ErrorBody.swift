// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FetchCall {
  /// The body of an answer outside 200–299, and why it is not whole, where it is not. The status is what matters: a
  /// body that cannot be read does not hide it.
  func errorBody(of exchange: Exchange) async -> (body: Data, cut: BodyCut?) {
    if exchange.request.head.method == .head {
      exchange.body.cancel()
      return (Data(), nil)
    }
    let limit = max(0, plan.configuration.maximumErrorBodyBytes)
    let told = exchange.response.facts.bodyCut
    if let bytes = exchange.body.bytes { return (bytes, told ?? (bytes.count > limit ? .limit(limit) : nil)) }
    var body = Data()
    do throws(TransportError) {
      for try await chunk in exchange.body {
        let room = limit - body.count
        body.append(chunk.prefix(room))
        if chunk.count > room {
          exchange.body.cancel()
          return (body, .limit(limit))
        }
      }
    } catch {
      return (body, BodyCut(error))
    }
    return (body, told)
  }
}
