// SPDX-License-Identifier: Apache-2.0

import Glibc

// A shop that uses three APIs, as a service. `Service` runs it under load while the APIs fail in turn, and reports the
// results that users saw. `Service serve` runs it until SIGTERM or SIGINT.
do {
  switch CommandLine.arguments.dropFirst().first {
  case nil: exit(try await Load.run())
  case "serve":
    let upstreams = try Upstreams()
    let shop = try RunningShop(try upstreams.settings())
    print("\(shop.front.server.baseURL)/offers/tea?currency=USD\n\(shop.front.server.baseURL)/metrics")
    fflush(nil)
    try await shop.run()
    upstreams.stop()
  default:
    print("usage: Service, or Service serve")
    exit(64)
  }
} catch {
  print(error)
  exit(1)
}
