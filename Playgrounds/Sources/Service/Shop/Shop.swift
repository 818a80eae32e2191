// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroEveryday
import LastroResilience

/// Answers users. It knows stacks and resources, and no engine.
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
      settings.rates.enumerated().map { try Endpoint($0.element, tier: $0.offset) }, time: settings.time)
  }

  /// - Throws: where it is not even known how many there are: then there is nothing to offer.
  func offer(_ sku: String, in currency: String) async throws(HTTPFetchError<TextAPIError>) -> Offer {
    // What an offer can do without is no reason to fail.
    async let price = try? stacks.prices.fetch(.price(of: sku, from: prices)).value
    async let rate = rate(of: currency)
    let count = try await stacks.stock.fetch(.stock(of: sku, from: stock))
    let isOld = count.response.facts.cache?.outcome == .staleServed
    let euros = await price.map { Double($0.cents) / 100 }
    guard let rate = await rate else {
      return Offer(sku: sku, count: count.value.count, isOld: isOld, price: euros, currency: "EUR")
    }
    return Offer(
      sku: sku, count: count.value.count, isOld: isOld, price: euros.map { $0 * rate.rate }, currency: currency)
  }

  /// Asks one server, and where that fails the next.
  private func rate(of currency: String) async -> Rate? {
    var tried: [Endpoint] = []
    while tried.count < 2 {
      let lease = rates.lease(avoiding: tried)
      tried.append(lease.endpoint)
      let start = ContinuousClock.now
      do throws(HTTPFetchError<TextAPIError>) {
        let rate = try await stacks.rates.fetch(.rate(of: currency, from: lease.origin)).value
        lease.end(.success, latency: start.duration(to: .now))
        return rate
      } catch {
        lease.end(AttemptOutcome(error).verdict, latency: start.duration(to: .now))
      }
    }
    return nil
  }
}
