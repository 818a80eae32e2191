// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroEveryday
import LastroResilience

/// The logic that makes offers. It depends on stacks and resources, but not on an engine.
struct Shop: Sendable {
  private let stacks: ShopStacks
  private let prices: URL
  private let stock: URL
  private let rates: EndpointSet

  init(_ stacks: ShopStacks, _ settings: ShopSettings) throws {
    self.stacks = stacks
    prices = settings.prices
    stock = settings.stock
    rates = try EndpointSet(
      Array(settings.rates.prefix(1)), backups: Array(settings.rates.dropFirst()), time: settings.time)
  }

  /// - Throws: the error of the stock fetch, because there is no offer without a count.
  func offer(_ sku: String, in currency: String) async throws(HTTPFetchError<TextAPIError>) -> Offer {
    // The price and the rate are optional, so their failures are ignored.
    async let price = try? stacks.prices.fetch(.price(of: sku, from: prices)).value
    async let rate = rate(of: currency)
    let count = try await stacks.stock.fetch(.stock(of: sku, from: stock))
    let isOld = count.response.facts.cache == .staleServed
    let euros = await price.map { Double($0.cents) / 100 }
    guard let rate = await rate else {
      return Offer(sku: sku, count: count.value.count, isOld: isOld, price: euros, currency: "EUR")
    }
    return Offer(
      sku: sku, count: count.value.count, isOld: isOld, price: euros.map { $0 * rate.rate }, currency: currency)
  }

  /// Fetches the rate from one server, and from the other if that fails.
  private func rate(of currency: String) async -> Rate? {
    var tried: [Origin] = []
    while tried.count < 2 {
      let rate = try? await rates.withEndpoint(avoiding: tried) { origin in
        tried.append(origin)
        return try await stacks.rates.fetch(.rate(of: currency, from: origin)).value
      }
      if let rate { return rate }
    }
    return nil
  }
}
