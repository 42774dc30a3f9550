// Runs in the browser: shows the OpenAPI document with Swagger UI.
globalThis.SwaggerUIBundle({
  url: '/v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  // Their service would be told the address of this page.
  validatorUrl: null,
})
