// SPDX-License-Identifier: Apache-2.0

// The import is not @testable: this code is written as in applications.
import Foundation
import HTTPTypes
import Lastro
import LastroTesting
import TestSupport
import Testing

private struct ShopError: Error, Decodable { var message: String }
private struct RatesError: Error, Decodable { var reason: String }
private struct Item: Decodable, Equatable, Sendable { var price: Int }
private struct Rate: Decodable, Equatable, Sendable { var rate: Int }

extension HTTPResource where Model == Item, APIError == ShopError {
  fileprivate static func item(_ id: Int) -> Self { .get("/items/\(id)") }
}

extension HTTPResource where Model == Rate, APIError == RatesError {
  fileprivate static func item(_ id: Int) -> Self { .get("/rates/\(id)") }
}

extension HTTPResource where Model == ResponseBody, APIError == RatesError {
  fileprivate static func history(_ id: Int) -> Self { .get("/rates/\(id)/history") }
}

@Suite("Several APIs", .timeLimit(.minutes(15)))
struct SeveralAPIsTests {
  private static func stack(_ transport: ScriptedTransport, _ base: String) -> TransportNetworkStack {
    TransportNetworkStack(transport) { $0.baseURL = base }
  }

  @Test("Factories of two APIs may have the same name, and the type of the resource selects one")
  func sameNames() async throws {
    let transport = ScriptedTransport([
      .answer(200, body: #"{"price":7}"#), .answer(200, body: #"{"rate":8}"#), .answer(200, body: "1\n2"),
      .answer(404, body: #"{"reason":"none"}"#),
    ])
    let shop = Self.stack(transport, "https://shop.example")
    let rates = Self.stack(transport, "https://rates.example")
    #expect(try await shop.fetch(HTTPResource<Item, ShopError>.item(1)).value.price == 7)
    #expect(try await rates.fetch(HTTPResource<Rate, RatesError>.item(1)).value.rate == 8)
    let history = try await rates.stream(HTTPResource<ResponseBody, RatesError>.history(1)).value
    #expect(try await history.collect(upTo: 9) == Data("1\n2".utf8))
    do throws(HTTPFetchError<RatesError>) {
      _ = try await rates.fetch(HTTPResource<Rate, RatesError>.item(2))
      Issue.record("the call must fail")
    } catch {
      #expect(error.apiError?.reason == "none")
    }
    let urls = transport.requests.map { "\($0.head.authority ?? "")\($0.head.path ?? "")" }
    #expect(
      urls == [
        "shop.example/items/1", "rates.example/rates/1", "rates.example/rates/1/history", "rates.example/rates/2",
      ])
  }
}
